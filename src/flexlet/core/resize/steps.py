"""The single deeds of a resize, as data, and what each of them leaves behind.

A step is one write to the pod's cgroup, one call to the runtime, or one record in the actuated checkpoint. Every
step may be repeated: the executor records a step as actuated only after it succeeded, so that a crash between the
two repeats it.
"""

from typing import Final

import msgspec

from flexlet.api.pod import ResourceRequirements
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.values import CgroupValues, files
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resources.names import CPU, MEMORY

PHASES: Final = (MEMORY, CPU)
"""The resources of a resize, in the order they are named and looked at."""


class StopContainer(msgspec.Struct, frozen=True, tag=True):
    """Stop a container whose resizePolicy asks for it; it starts again with the allocated values."""

    container: str

    @property
    def subject(self) -> str:
        """What the step is about, unique in a plan."""
        return f"restart of {self.container}"


class WritePodCgroup(msgspec.Struct, frozen=True, tag=True):
    """Write files of the pod's cgroup, then tell the runtime the pod's resources (`sandbox`).

    Telling is best effort: an error of the runtime there does not fail the resize.
    """

    values: CgroupValues
    shrinks: bool
    sandbox: RuntimeResources

    @property
    def subject(self) -> str:
        """What the step is about, unique in a plan."""
        return f"{', '.join(files(self.values))} of the pod"


class UpdateContainer(msgspec.Struct, frozen=True, tag=True):
    """Hand new values to the runtime, then record them."""

    moved: tuple[str, ...]
    """Which resources change."""
    container: str
    resources: RuntimeResources
    shrinks: bool
    actuated: ResourceRequirements
    """The container's entry in the checkpoint once the call succeeded."""

    @property
    def subject(self) -> str:
        """What the step is about, unique in a plan."""
        return updated(self.moved, self.container)


class RecordPodLevel(msgspec.Struct, frozen=True, tag=True):
    """Record the pod-level values: everything that depends on them is done."""

    actuated: ResourceRequirements

    @property
    def subject(self) -> str:
        """What the step is about, unique in a plan."""
        return "record of the pod level"


Step = StopContainer | WritePodCgroup | UpdateContainer | RecordPodLevel


def updated(moved: tuple[str, ...], container: str) -> str:
    """The subject of an update, for those who ask whether it failed."""
    return f"{' and '.join(moved)} of {container}"


def recorded(actuated: Allocation, step: Step) -> Allocation:
    """The actuated record after the step has succeeded."""
    match step:
        case UpdateContainer(container=name, actuated=entry):
            return msgspec.structs.replace(actuated, containers={**actuated.containers, name: entry})
        case RecordPodLevel(actuated=entry):
            return msgspec.structs.replace(actuated, pod=entry)
        case _:
            return actuated
