"""All that is known of one virtual machine when its next step is decided."""

from typing import Final

import msgspec

from flexlet.api import duration
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.vm import amounts, guest, names
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.guest import Report, SetSize
from flexlet.core.vm.objects import DEFER_TIMEOUT_S, UNPLUG_TIMEOUT_S, FlexVM, FlexVMMigration
from flexlet.core.vm.overhead import overhead
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.sights import LauncherPod, NodeSight
from flexlet.core.vm.wish import Wanted
from flexlet.errors import InputError

_MOVED: Final = frozenset({"Succeeded", "Failed"})
_ALIVE: Final = frozenset({"Running", "Paused"})


class Refusal(msgspec.Struct, frozen=True):
    """What the API server said when it refused a resize."""

    resource: str
    code: int
    message: str


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The last word of a launcher, and since when some of it is so."""

    report: Report
    at: float
    since: float = 0.0
    """When this launcher was first heard."""
    reset_at: float = 0.0
    """When the guest was last seen to have started anew."""
    changed_at: float = 0.0
    """When the guest's size or its progress was last seen to change."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One machine, its launcher pod and what that said, and the node below."""

    vm: FlexVM
    wanted: Wanted
    boot: guest.Machine
    """What would be started now."""
    settings: Settings
    pods: tuple[LauncherPod, ...] = ()
    """All of its launcher pods, the oldest first, ended ones too."""
    heard: Heard | None = None
    """None: nobody has said anything since the line was opened."""
    told: SetSize | None = None
    """The last order on this line."""
    node: NodeSight | None = None
    size: NodeSize | None = None
    """Of that node."""
    others: Amounts | None = None
    """What other pods take from that node, balloons not among them."""
    refusal: Refusal | None = None
    trouble: str = ""
    """Why the launcher pod could not be made."""
    complaints: tuple[str, ...] = ()
    """What is wrong with the spec."""
    quota_news: frozenset[str] = frozenset()
    """Resources that have not been tried since a quota changed."""
    node_changed: bool = False
    """Whether the node has another size than when it was last looked at."""
    migrations: tuple[FlexVMMigration, ...] = ()
    devices: tuple[str, ...] = ()
    """Names of the devices that the machine was given."""
    correction: int = 0
    """By how much the overhead's formula is off, as measured."""

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.vm.metadata.namespace}/{self.vm.metadata.name}"

    @property
    def pod(self) -> LauncherPod | None:
        """The launcher whose machine counts: not the target of a migration before it has arrived there."""
        live = [p for p in self.pods if p.is_live]
        settled = [p for p in live if not p.migration]
        return next(iter(reversed(settled)), None) or next(iter(live), None)

    @property
    def machine(self) -> guest.Machine | None:
        """What was started."""
        return self.pod.machine if self.pod else None

    @property
    def report(self) -> Report | None:
        """What the launcher says, if its machine is alive."""
        known = self.heard.report if self.heard else None
        return known if known is not None and known.run_state in _ALIVE else None

    @property
    def guest(self) -> Sizes:
        """G."""
        report = self.report
        return Sizes(report.vcpus, report.memory) if report else Sizes(0, 0)

    @property
    def is_answered(self) -> bool:
        """Whether the launcher's last word is about the last order."""
        return self.told is not None and self.report is not None and self.report.order == self.told.id

    @property
    def reach(self) -> Sizes:
        """What the guest may have at any moment without being told anything more."""
        report = self.report
        if report is None:
            return Sizes(0, 0)
        found = Sizes(report.vcpus, max(report.memory, report.requested))
        if self.told is not None and not self.is_answered:
            return Sizes(max(found.vcpus, self.told.vcpus), max(found.memory, self.told.memory))
        if self.told is not None and report.cpu.progress == "Changing":
            return Sizes(max(found.vcpus, self.told.vcpus), found.memory)
        return found

    @property
    def request(self) -> str:
        """Which wish of the user it is, beside the size."""
        return self.vm.metadata.annotations.get(names.REQUESTED, "")

    @property
    def defer_timeout_s(self) -> float:
        """How long a node may leave a grow waiting."""
        return _seconds(self.vm.spec.resize_policy.defer_timeout, DEFER_TIMEOUT_S)

    @property
    def unplug_timeout_s(self) -> float:
        """How long a guest may take to let something go."""
        return _seconds(self.vm.spec.resize_policy.unplug_timeout, UNPLUG_TIMEOUT_S)

    @property
    def is_moving(self) -> bool:
        """Whether a migration is under way: nothing is resized meanwhile."""
        is_marked = any(p.migration and p.is_live for p in self.pods)
        return is_marked or any(m.status.phase not in _MOVED for m in self.migrations)

    def need(self, size: Sizes) -> Need:
        """What the pod must have for a guest of this size, in the shape that this pod can have."""
        found = amounts.bare(need(self.wanted, size.vcpus, size.memory, self.settings, self.correction))
        return amounts.kept_limits(found, self.pod.spec) if self.pod else found

    def overhead(self, size: Sizes) -> int:
        """What the pod needs beside the guest's memory."""
        return overhead(self.wanted, size.vcpus, size.memory, self.settings) + self.correction


def _seconds(text: str, otherwise: float) -> float:
    """A duration; one that nobody can read is complained about elsewhere."""
    try:
        return float(duration.parse(text)) if text else otherwise
    except InputError:
        return otherwise
