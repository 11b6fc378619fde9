"""The agent's picture of one pod, frozen; a change makes a new one.

Three sizes are kept apart: desired is in `pod`, allocated in `allocation` (written durably before it is used),
actuated in `actuated`. What the runtime and the kernel show is in `shown` and `cgroup`; they are None until they
were looked at once, and nothing is decided before that.
"""

from typing import Any, Final

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.api.units import PodUid
from flexlet.core.agent.observations import API
from flexlet.core.resize import conditions
from flexlet.core.resize.allocation import NOTHING, Allocation
from flexlet.core.resize.conditions import ResizeConditions
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.resize.steps import Step
from flexlet.core.runtime.shown import RuntimePod

UNDECIDED: Final = "Undecided"
ADMITTED: Final = "Admitted"
REJECTED: Final = "Rejected"


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The node itself ends the pod: evicted, preempted, past its deadline, rejected, shut down."""

    reason: str = ""
    message: str = ""
    grace_s: int | None = None
    """None: the pod's own."""
    failed: bool = True
    """Whether the phase becomes Failed with reason and message, whatever the exit codes."""
    disruption: str = ""
    """Message of a DisruptionTarget condition with reason TerminationByKubelet; empty for none."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Why a container does not start: what its waiting state shows."""

    reason: str
    message: str = ""
    at: float = 0.0


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How long the next attempt waits: the delay in force and when it was decided."""

    delay_s: float
    since: float
    identity: int = 0
    """What the delay is about (image, resources): another one starts anew."""
    attempt: int = -1
    """Of a restart: which attempt of the container it was decided for."""
    why: str = ""
    """What went wrong, for those who are told that there is a wait."""

    @property
    def ends_at(self) -> float:
        """When the wait is over, if it began with the decision."""
        return self.since + self.delay_s


class ImageState(msgspec.Struct, frozen=True, kw_only=True):
    """A container's image: here, or why not."""

    ref: str = ""
    user: int | None = None
    username: str = ""
    for_attempt: int = -1
    """Which attempt of the container it was made sure for (the policy Always asks each time)."""


class VolumeImage(msgspec.Struct, frozen=True, kw_only=True):
    """The image that a volume is: here, or why not."""

    ref: str = ""
    attempts: dict[str, int] = {}
    """For which attempt of which container it was made sure."""
    trouble: Trouble | None = None


class ProbeState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known from one probe of one run of a container."""

    container_id: str = ""
    result: str = ""
    """``success``, ``failure`` or empty while undecided."""
    streak: int = 0
    """Consecutive equal answers."""
    last_answer: str = ""
    next_at: float = 0.0
    on_hold: bool = False
    """Whether the run was given up: no more questions until the next run."""


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a container is kept: CPUs and NUMA nodes as the kernel lists them, empty for anywhere."""

    cpus: str = ""
    mems: str = ""


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime does not say that something runs, but its processes do."""

    since: float
    seen_at: float
    """When that was seen last."""


class PodRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All that the agent knows of one pod."""

    pod: NodePod
    source: str = API
    seen_at: float = 0.0
    mirror: NodePod | None = None
    """Of a static pod: its mirror in the API, once there is one."""
    gone: bool = False
    """Whether the source no longer has it: stop at once, tell nobody."""
    unsupported: tuple[str, ...] = ()

    admission: str = UNDECIDED
    allocation: Allocation | None = None
    granted: Allocation | None = None
    """Decided, and on its way to the disk; counts as held, is used by nobody yet."""
    actuated: Allocation = NOTHING
    resize: ResizeConditions = conditions.NONE
    failed_steps: frozenset[str] = frozenset()
    """Subjects of steps that failed in the present attempt to resize."""
    failures: tuple[str, ...] = ()
    """What was said when they did."""
    doubtful: frozenset[str] = frozenset()
    """Containers that may have another size than was recorded: a step failed, or an agent died over one."""
    retry_resize_at: float = 0.0
    taken: tuple[Step, ...] = ()
    """Steps of the present attempt that were done; one that is due again was not taken by the kernel."""
    unverified: bool = False
    """Whether steps were done since the pod was last looked at."""
    exclusive: frozenset[str] = frozenset()
    """Containers that have CPUs of their own."""
    contested: bool = False
    """Whether others are about to leave the CPUs that these containers have."""
    pinned: dict[str, Pin] = {}
    """Runs that were given other CPUs or NUMA nodes since they were made, by id."""
    settled: tuple[Allocation, Allocation, PodCgroup | None, frozenset[str]] | None = None
    """Allocated, actuated, cgroup and running containers for which nothing is left to do."""

    shown: RuntimePod | None = None
    order: int = 0
    """Which question `shown` answers; answers to older ones are dropped."""
    stale: bool = False
    """Whether something failed half way: nothing is decided before the next look."""
    doubts: dict[str, Doubt] = {}
    """Sandboxes and runs that the runtime has lost and the kernel has not, by id."""
    messages: dict[str, str] = {}
    has_cgroup: bool | None = None
    has_values: bool = False
    """Whether its cgroup was given all its values; an agent may have died before that."""
    cgroup: PodCgroup | None = None
    usage: MemoryUsage | None = None
    ips: tuple[str, ...] = ()
    """The last known ones: a stopped sandbox shows none."""

    volumes: bool = False
    """Whether they are mounted."""
    refresh_volumes_at: float = 0.0

    images: dict[str, ImageState] = {}
    volume_images: dict[str, VolumeImage] = {}
    """By volume."""
    troubles: dict[str, Trouble] = {}
    crashes: dict[str, Backoff] = {}
    """By container."""
    pulls: dict[str, Backoff] = {}
    """By image."""
    retries: dict[str, Backoff] = {}
    """By the key of a deed that failed: not again before the delay is over."""
    probes: dict[str, ProbeState] = {}
    """By ``kind/container``."""

    underway: dict[str, float] = {}
    """Keys of the deeds that have begun and not ended, and when they began."""

    doomed: dict[str, str] = {}
    """Runs that must be stopped, by id, and why, as the Killing event says it."""
    replaced: frozenset[str] = frozenset()
    """Runs that were stopped in order to be started again, whatever their exit code."""
    stops: dict[str, float] = {}
    """Runs that were told to stop with the pod, by id, and the deadline they were given."""
    hooked: frozenset[str] = frozenset()
    """Runs whose preStop hook is done although they still run."""
    stopped_sandboxes: frozenset[str] = frozenset()

    ending: Ending | None = None
    stopping_since: float | None = None
    grace_s: int | None = None
    """The shortest grace decided so far; it may only shrink."""
    stop_by: float = 0.0
    """When the grace is over."""
    stopped: bool = False
    """Whether all its containers and sandboxes are stopped for good."""
    cleaned: bool = False
    """Whether its volumes and its cgroup are gone; of a pod that is gone, whether nothing is left of it."""
    unmounted: bool = False
    """Whether its volumes were taken away after its end."""
    erased: bool = False
    """Whether its directory was, too."""

    started_at: str = ""
    """status.startTime."""
    reported: dict[str, Any] | None = None
    """The status that the API has, as far as we know."""
    told_from: tuple[Any, ...] | None = None
    """What was known when there was nothing to tell; while that is the same there still is nothing."""
    deleted: bool = False
    """Whether the API was told to let it go."""

    @property
    def uid(self) -> str:
        """The pod's."""
        return self.pod.metadata.uid

    @property
    def pod_uid(self) -> PodUid:
        """The same, as what it is."""
        return PodUid(self.pod.metadata.uid)

    @property
    def api_pod(self) -> NodePod:
        """The object in the API that stands for the pod: itself, or the mirror of a static one."""
        return self.pod if self.mirror is None else self.mirror

    def is_underway(self, key: str) -> bool:
        """Whether a deed of this key has begun and not ended."""
        return key in self.underway
