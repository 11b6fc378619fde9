"""All that is known of one node when its next step is decided."""

import msgspec

from flexlet.core.nodesize import names, sizes
from flexlet.core.nodesize.modes import Verdict
from flexlet.core.nodesize.objects import NodeSize, Progress
from flexlet.core.nodesize.settings import Settings
from flexlet.core.nodesize.shapes import Policies
from flexlet.core.nodesize.sights import Balloon, NodeSight
from flexlet.core.nodesize.sizes import Amounts


class Measured(msgspec.Struct, frozen=True):
    """What the hypervisor end last said about a machine; `refusal` if it did not do all it was asked for."""

    cpus: int
    memory: int
    refusal: str = ""
    is_busy: bool = False
    modules: tuple[int, ...] | None = None
    """The parts in which its memory can be taken out, None if that is not known."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One node, its balloons (the oldest first) and what its other pods ask for."""

    size: NodeSize
    node: NodeSight
    balloons: tuple[Balloon, ...] = ()
    workload: Amounts
    """W, as the scheduler counts it."""
    granted: Amounts
    """What the node has granted to other pods: less than W while resizes of them wait."""
    settings: Settings
    verdict: Verdict
    policies: Policies = Policies()
    refusal: str = ""
    """What the API server said when it refused the last resize."""
    trouble: str = ""
    """Why no balloon could be made."""
    machine: Measured | None = None
    has_machine: bool = False

    @property
    def allocatable(self) -> Amounts:
        """A."""
        return self.node.allocatable

    @property
    def active(self) -> Balloon | None:
        """The balloon that is resized; all others shall go."""
        return self.balloons[0] if self.balloons else None

    @property
    def held(self) -> Amounts:
        """B: what all balloons keep from everybody else."""
        return sizes.total(balloon.held for balloon in self.balloons)

    @property
    def allocated(self) -> Amounts:
        """What the node has granted to all balloons."""
        return sizes.total(balloon.allocated or sizes.NOTHING for balloon in self.balloons)

    @property
    def effective(self) -> Amounts:
        """E: what workloads may use."""
        return sizes.less(self.allocatable, self.held)

    @property
    def headroom(self) -> Amounts:
        """H."""
        return sizes.less(self.effective, self.workload)

    @property
    def excess(self) -> Amounts:
        """By how much the node has granted more than it has; 0 normally, more after it shrank."""
        given = (b.allocated or b.spec for b in self.balloons)
        over = sizes.less(sizes.total((self.granted, *given)), self.allocatable)
        return sizes.largest(over, sizes.NOTHING)

    @property
    def request(self) -> str:
        """Which wish of the user it is, beside the generation."""
        return self.size.metadata.annotations.get(names.REQUESTED, "")

    def record(self, resource: str) -> Progress | None:
        """How far the balloon has come with a resource."""
        return next((r for r in self.size.status.progress if r.resource == resource), None)
