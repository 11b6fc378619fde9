"""NodeSize (flexlet.io/v1alpha1, cluster scope, named as its node): the wanted size of a node and what came of it.

Amounts are resource lists of cpu and memory; a resource that the target does not name is left as it is. Absent
fields mean what their comment says. There is no default for `onInsufficient` in the schema: absent means Fail, but
the first inflate after a balloon was put on a node in use takes what it can get (balloon.md §5.2). Status amounts
may be negative: the headroom of a node that was promised more than it has.
"""

from typing import Final, Literal

import msgspec

from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity

OnInsufficient = Literal["Fail", "Partial", "Defer"]
CapacityChange = Literal["Expose", "Hold"]
Enforce = Literal["None", "Cpu", "CpuAndMemory"]
Via = Literal["Balloon", "Hardware", "Auto"]
Direction = Literal["", "Inflate", "Deflate"]
Result = Literal["", "Pending", "Granted", "Partial", "Refused", "Deferred"]
Phase = Literal["Idle", "Plugging", "Preparing", "Unplugging", "Refused"]

DEADLINE_S: Final = 60


class Target(KubeStruct, frozen=True, kw_only=True):
    """Exactly one of both: the size workloads may use, or the size of the balloon."""

    effective: ResourceList | None = None
    balloon: ResourceList | None = None


class MachineRef(KubeStruct, frozen=True, kw_only=True):
    """Which hypervisor end plugs the node's machine."""

    qmp: str = ""
    """Path of the QMP socket."""


class NodeSizeSpec(KubeStruct, frozen=True, kw_only=True):
    """What is wanted; without a target the balloon's own spec is the truth."""

    target: Target | None = None
    on_insufficient: OnInsufficient | None = None
    """Absent: Fail."""
    deadline_seconds: int | None = None
    """For Defer; absent: 60."""
    min_effective: ResourceList = msgspec.field(default_factory=dict)
    capacity_change: CapacityChange | None = None
    """Absent: Expose."""
    enforce: Enforce | None = None
    """Absent: None."""
    via: Via | None = None
    """Absent: Balloon."""
    machine: MachineRef | None = None

    @property
    def deadline_s(self) -> int:
        """How long a deferred inflate may wait."""
        return DEADLINE_S if self.deadline_seconds is None else self.deadline_seconds


class BalloonSizes(KubeStruct, frozen=True, kw_only=True):
    """The balloon as it is wanted, granted and in force; the sum, if there are several."""

    desired: ResourceList = msgspec.field(default_factory=dict)
    allocated: ResourceList = msgspec.field(default_factory=dict)
    actual: ResourceList = msgspec.field(default_factory=dict)


class LastResize(KubeStruct, frozen=True, kw_only=True):
    """The resize that ended last, or is under way (Pending, Deferred)."""

    direction: Direction = ""
    requested: ResourceList = msgspec.field(default_factory=dict)
    """Balloon sizes that were asked for, of the resources that changed."""
    granted: ResourceList = msgspec.field(default_factory=dict)
    result: Result = ""
    at: str = ""


class Progress(KubeStruct, frozen=True, kw_only=True):
    """How far the balloon has come with one resource: all that a controller must know after a restart."""

    resource: str
    generation: int = 0
    """The generation of the NodeSize it is done for."""
    request: str = ""
    """Its annotation flexlet.io/requested-at."""
    wanted: Quantity = Quantity(0)
    requested: Quantity = Quantity(0)
    """What the balloon's spec was last set to."""
    direction: Direction = ""
    result: Result = ""
    missing: Quantity = Quantity(0)
    since: str = ""
    """When this was first wished for."""
    asked_at: str = ""
    """When the node was first asked for it: a balloon has to be made and to start, and others come first."""
    attempts: int = 0
    """How often the node said that there is no room."""
    message: str = ""


class Base(KubeStruct, frozen=True, kw_only=True):
    """What the target came to when it was first seen; later changes of the machine are judged by it."""

    target: Target = Target()
    request: str = ""
    """The annotation flexlet.io/requested-at of that time."""
    allocatable: ResourceList = msgspec.field(default_factory=dict)
    balloon: ResourceList = msgspec.field(default_factory=dict)
    before: ResourceList = msgspec.field(default_factory=dict)
    """The balloon at that time."""
    enabling: bool = False
    """Whether the node had no balloon before."""


class MachineStatus(KubeStruct, frozen=True, kw_only=True):
    """What the hypervisor end was asked for and what came of it."""

    phase: Phase = "Idle"
    generation: int = 0
    request: str = ""
    since: str = ""
    wanted: ResourceList = msgspec.field(default_factory=dict)
    actual: ResourceList = msgspec.field(default_factory=dict)
    message: str = ""
    kept: str = ""
    """Why a part of it stays, told when the rest has gone."""


class Enforced(KubeStruct, frozen=True, kw_only=True):
    """The value of annotation flexlet.io/enforce: the mode and the size that may be used, for the node's agent."""

    mode: Enforce = "None"
    effective: ResourceList = msgspec.field(default_factory=dict)


class NodeSizeStatus(KubeStruct, frozen=True, kw_only=True):
    """What came of it."""

    observed_generation: int = 0
    mode: str = ""
    """native, stock or stock-critical."""
    shape: str = ""
    allocatable: ResourceList = msgspec.field(default_factory=dict)
    balloon: BalloonSizes = BalloonSizes()
    pod: str = ""
    """The uid of the balloon that is resized."""
    surplus: int = 0
    """How many balloons there are besides."""
    effective: ResourceList = msgspec.field(default_factory=dict)
    workload: ResourceList = msgspec.field(default_factory=dict)
    headroom: ResourceList = msgspec.field(default_factory=dict)
    last_resize: LastResize | None = None
    progress: tuple[Progress, ...] = ()
    base: Base | None = None
    machine: MachineStatus | None = None
    enforced: Enforced | None = None
    conditions: tuple[Condition, ...] = ()


class NodeSize(KubeStruct, frozen=True, kw_only=True):
    """One node's wanted size."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSizeSpec = NodeSizeSpec()
    status: NodeSizeStatus = NodeSizeStatus()


CONDITIONS: Final = (
    "Ready",
    "Resizing",
    "Insufficient",
    "BalloonMissing",
    "Drifted",
    "Overcommitted",
    "ModeDegraded",
)
EVENTS: Final = (
    "BalloonInflated",
    "BalloonDeflated",
    "BalloonInflateRefused",
    "BalloonInflatePartial",
    "BalloonDrift",
    "BalloonRecreated",
    "BalloonSurplus",
)
