"""Everything the agent can learn about its pods.

Pods come and go by `PodSeen` and `PodGone`; deeds begin by being issued and end by `Finished`, whose outcome says
how. `Shown` arrives whenever the runtime was asked, be it for a deed or because it hinted that something happened;
a deed that changes what the runtime has is followed by a look, and its end is told after what was seen.
"""

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.runtime.shown import RuntimePod

API = "api"
FILE = "file"


class PodSeen(msgspec.Struct, frozen=True, tag=True):
    """A pod of this node was added or changed in its source."""

    pod: NodePod
    source: str = API
    unsupported: tuple[str, ...] = ()
    """Parts of the raw object that flexlet cannot honour, by name."""


class PodGone(msgspec.Struct, frozen=True, tag=True):
    """A pod is no longer in its source."""

    uid: str


class Shown(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What the runtime and the kernel have of a pod now."""

    pod: RuntimePod
    has_cgroup: bool = False
    cgroup: PodCgroup | None = None
    usage: MemoryUsage | None = None
    """None unless asked for; what could not be read is None or absent inside."""
    messages: dict[str, str] = {}
    """Termination messages by container id, of runs that ended."""
    alive: frozenset[str] = frozenset()
    """Ids of sandboxes and runs that have processes although the runtime does not say that they run."""
    order: int = 0
    """When the question was put, by a counter: an older view that arrives late is not taken in."""

    @property
    def uid(self) -> str:
        """Whose."""
        return self.pod.uid


class Done(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A deed succeeded."""

    id: str = ""
    """Of the sandbox or container that was made."""
    image_ref: str = ""
    """Of PullImage: what the image is known by."""
    pulled: bool = False
    """Of PullImage: whether anything was fetched."""
    size: int = 0
    waited_s: float = 0.0
    """Of PullImage: seconds spent waiting for other pulls."""
    user: int | None = None
    username: str = ""
    """Of PullImage: whom the image runs as."""
    hook_failure: str = ""
    """Of StopContainer and RunPreStop: why the preStop hook failed, or that it was abandoned."""
    order: int = 0
    """Of TakeStep: when it was done, by the counter of Shown; what was asked before does not show it."""


class Failed(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A deed failed; `reason` is what a waiting container shows, `message` what people are told."""

    reason: str = ""
    message: str
    id: str = ""
    """Of a container that was made all the same."""
    stage: str = ""
    """How far StartContainer came: ``config``, ``create``, ``start`` or ``hook``; of hooks, ``hook``."""
    detail: str = ""
    """Of MountVolumes: the volume."""


class PullBegan(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A PullImage found that it must fetch, and does so as soon as it is its turn."""

    uid: str
    container: str = ""
    """Whose image; empty for that of a volume."""
    volume: str = ""
    image: str
    absent_secrets: tuple[str, ...] = ()
    """Pull secrets that the pod names and that are not there."""


class HookChanged(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A lifecycle hook started or ended; told for those who read the journal, what follows is in the outcome."""

    uid: str
    container: str
    hook: str
    """``postStart`` or ``preStop``."""
    state: str
    """``started``, ``succeeded``, ``failed``, or ``abandoned`` when the grace period was over."""
    message: str = ""
    """Why it failed."""
    seconds: float = 0.0
    """How long it ran."""


class Answer(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What a probe brought: ``success``, ``warning``, ``failure`` or ``unknown``, with its output."""

    result: str
    output: str = ""


Outcome = Done | Failed | Answer


class Finished(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A deed came to its end."""

    deed: PodDeed
    outcome: Outcome
    began_at: float
    ended_at: float

    @property
    def uid(self) -> str:
        """Whose."""
        return self.deed.uid


class AllocationRead(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What the checkpoints say of a pod; learned once, when the agent starts."""

    uid: str
    allocation: Allocation | None = None
    actuated: Allocation | None = None


PodObservation = PodSeen | PodGone | Shown | PullBegan | HookChanged | Finished | AllocationRead
