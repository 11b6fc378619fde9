"""Everything the agent can do to a pod on its node, as data.

Deeds of one decision run side by side; what must come after something else is decided in a later round, when its
end has been observed. `key` names what a deed is about within its pod: while a deed of that key is under way no
other one of that key is begun. Every deed may be repeated after a crash.
"""

from typing import Any

import msgspec

from flexlet.api.nodepod.handlers import Handler
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.steps import Step


class Deed(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="deed"):
    """Something done for one pod."""

    uid: str

    @property
    def key(self) -> str:
        """What the deed is about; unique among those under way for the pod."""
        return type(self).__name__


class Inspect(Deed, frozen=True, kw_only=True):
    """Ask the runtime for everything it has of the pod, and the kernel for its cgroup; ends with Shown."""

    usage: bool = False
    """Whether memory in use must be read too, for limits about to go down."""


class SaveAllocation(Deed, frozen=True, kw_only=True):
    """Write a granted allocation durably; nothing of it is used before that."""

    allocation: Allocation
    generation: int = 0
    """Of the pod that was granted it; meanwhile there may be a newer one."""


class ForgetPod(Deed, frozen=True, kw_only=True):
    """Drop the pod from both checkpoints."""


class CreatePodCgroup(Deed, frozen=True, kw_only=True):
    """Make the pod's cgroup with its values, and record the pod level as actuated."""

    path: str
    files: dict[str, str]
    actuated: Allocation

    @property
    def key(self) -> str:
        """One at a time with its removal."""
        return "cgroup"


class RemovePodCgroup(Deed, frozen=True, kw_only=True):
    """Kill what is left in the pod's cgroup and remove it."""

    path: str

    @property
    def key(self) -> str:
        """One at a time with its creation."""
        return "cgroup"


class MountVolumes(Deed, frozen=True, kw_only=True):
    """Make the pod's directories and volumes, or bring their contents up to date."""

    @property
    def key(self) -> str:
        """One at a time with their removal."""
        return "volumes"


class RemoveVolumes(Deed, frozen=True, kw_only=True):
    """Take the volumes away; `everything` removes the pod's directory too."""

    everything: bool = False

    @property
    def key(self) -> str:
        """One at a time with their making."""
        return "volumes"


class RunSandbox(Deed, frozen=True, kw_only=True):
    """Make the pod's sandbox."""

    attempt: int

    @property
    def key(self) -> str:
        """One sandbox deed at a time."""
        return "sandbox"


class StopSandbox(Deed, frozen=True, kw_only=True):
    """Stop a sandbox and free its network."""

    sandbox_id: str

    @property
    def key(self) -> str:
        """One sandbox deed at a time."""
        return "sandbox"


class RemoveSandbox(Deed, frozen=True, kw_only=True):
    """Forget a sandbox that has no containers."""

    sandbox_id: str

    @property
    def key(self) -> str:
        """By sandbox: an old one that cannot be removed keeps nobody from making a new one."""
        return f"remove/{self.sandbox_id}"


class PullImage(Deed, frozen=True, kw_only=True):
    """See to it that a container's image is here, or that of a volume, as the pull policy says."""

    container: str = ""
    volume: str = ""
    """Instead of a container: a volume that is an image, for all that mount it."""
    image: str
    policy: str

    @property
    def key(self) -> str:
        """By container or volume."""
        return f"image/{self.container}" if self.container else f"volume-image/{self.volume}"


class StartContainer(Deed, frozen=True, kw_only=True):
    """Make a container and start it, then run its postStart hook.

    `actuated` is recorded before it is made: a container never has values that the record does not know. It is the
    whole record of the pod as decided; only this container's entry is written, beside what others wrote meanwhile.
    """

    container: str
    attempt: int
    sandbox_id: str
    image_ref: str
    actuated: Allocation

    @property
    def key(self) -> str:
        """By container."""
        return f"container/{self.container}"


class StopContainer(Deed, frozen=True, kw_only=True):
    """Run the preStop hook and stop a container, all within the grace given."""

    container: str
    container_id: str
    grace_s: int
    """Counted from the beginning of the deed."""
    reason: str
    """Why, as the Killing event says it."""
    pre_stop: Handler | None = None
    replaces: bool = False
    """Whether it starts again, whatever its exit code; that is written down before it is stopped."""

    @property
    def key(self) -> str:
        """By run, apart from its start: a container whose hook hangs can be stopped.

        It may be issued again with less grace while the first is under way; whichever ends first ends both.
        """
        return f"stop/{self.container_id}"


class RunPreStop(Deed, frozen=True, kw_only=True):
    """Run the preStop hook of a sidecar that must go on until others have ended; it is stopped later."""

    container: str
    container_id: str
    grace_s: int
    """After which the hook is abandoned."""
    hook: Handler

    @property
    def key(self) -> str:
        """By run."""
        return f"hook/{self.container_id}"


class RemoveContainer(Deed, frozen=True, kw_only=True):
    """Forget an ended run of a container, its logs with it."""

    container: str
    container_id: str

    @property
    def key(self) -> str:
        """By run."""
        return f"remove/{self.container_id}"


class TakeStep(Deed, frozen=True, kw_only=True):
    """One step of a resize; what it leaves behind is recorded as actuated when it succeeded."""

    step: Step
    sandbox_id: str = ""
    container_id: str = ""
    path: str = ""
    """The pod's cgroup."""

    @property
    def key(self) -> str:
        """One step at a time."""
        return "resize"


class SetCpus(Deed, frozen=True, kw_only=True):
    """Give a running container other CPUs, and other NUMA nodes for its memory if `mems` says so."""

    container: str
    container_id: str
    cpus: str
    mems: str = ""
    unlimited: bool = False
    """Whether the CPUs are its own, so that no quota must hold it back."""

    @property
    def key(self) -> str:
        """By run."""
        return f"cpus/{self.container_id}"


class RunProbe(Deed, frozen=True, kw_only=True):
    """Ask a container how it is."""

    container: str
    container_id: str
    kind: str
    """``startup``, ``readiness`` or ``liveness``."""

    @property
    def key(self) -> str:
        """By container and kind."""
        return f"probe/{self.kind}/{self.container}"


class ReportStatus(Deed, frozen=True, kw_only=True):
    """Write the pod's status to the API."""

    status: dict[str, Any]

    @property
    def key(self) -> str:
        """One report at a time; the newest wins."""
        return "status"


class FinishDelete(Deed, frozen=True, kw_only=True):
    """Delete the pod from the API: it has ended and its status is known there."""

    @property
    def key(self) -> str:
        """Never together with a report."""
        return "status"


PodDeed = (
    Inspect
    | SaveAllocation
    | ForgetPod
    | CreatePodCgroup
    | RemovePodCgroup
    | MountVolumes
    | RemoveVolumes
    | RunSandbox
    | StopSandbox
    | RemoveSandbox
    | PullImage
    | StartContainer
    | StopContainer
    | RunPreStop
    | RemoveContainer
    | TakeStep
    | SetCpus
    | RunProbe
    | ReportStatus
    | FinishDelete
)
