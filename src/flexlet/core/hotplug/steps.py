"""What the agent does about another size of its machine, as data; `plan` puts the steps in order.

Every step may be taken again: it names values to reach, not changes to make. A step that fails before `Publish`
ends the attempt, and the node keeps its old size; afterwards nothing is taken back, and what failed is tried again
with the next look at the machine. `TuneContainer` and `PinContainers` are never waited for.
"""

import msgspec

from flexlet.api.units import Bytes
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.victims import Victim
from flexlet.core.hotplug.view import NodeView
from flexlet.core.managers.resync import Move, Write
from flexlet.core.managers.state import Managers
from flexlet.core.resize.allocation import Allocation


class Step(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="step"):
    """One step."""


class Squeeze(Step, frozen=True, kw_only=True):
    """Let the kernel take memory back from all pods without killing any: ``memory.high`` of kubepods."""

    path: str
    limit: Bytes

    @property
    def files(self) -> dict[str, str]:
        """What to write."""
        return {"memory.high": str(self.limit)}


class HoldPods(Step, frozen=True, kw_only=True):
    """Write the values of kubepods that may change at once: everything that grows, and what cannot kill."""

    path: str
    files: dict[str, str]


class TuneContainer(Step, frozen=True, kw_only=True):
    """Give a running container the values that follow from the size of the node.

    ``oom_score_adj`` is rewritten only for processes that have one of the scores in `oom_before`, which are ours:
    the others chose their own. Where that is empty the score stays.
    """

    uid: str
    container: str
    container_id: str
    files: dict[str, str] = {}
    """Into its cgroup: ``memory.swap.max``, ``memory.high``."""
    before: dict[str, str] = {}
    """What the same files were for the size that was published before."""
    oom_before: tuple[int, ...] = ()
    oom_after: int = 0


class SaveManagers(Step, frozen=True, kw_only=True):
    """Write the books of the managers durably; nothing of them is used before."""

    managers: Managers


class PinContainers(Step, frozen=True, kw_only=True):
    """Give running containers their CPUs and NUMA nodes, in this order: sets that shrink come first."""

    cpusets: tuple[Write, ...] = ()
    memory: tuple[Move, ...] = ()


class Publish(Step, frozen=True, kw_only=True):
    """From now on the node has this size: admission, resizes and new containers go by it.

    One change of the world: the view, the books, smaller balloons, and the mark on those who have to go; made only
    if the plan still holds (`settling.still_holds`), or books that know of a newcomer would be lost. It is
    written to the file of generations as unfinished, so that whoever comes after knows what remains to be done.
    """

    generation: Generation
    view: NodeView
    managers: Managers
    allocations: dict[str, Allocation] = {}
    """Balloons that paid, by uid."""
    victims: tuple[Victim, ...] = ()


class ReportNode(Step, frozen=True, kw_only=True):
    """Tell the cluster, before any pod ends; tried until it is told, and not waited for if the API is away."""

    generation: int
    closed: bool = False
    """Whether new pods must stay away (taint ``flexlet.io/resizing:NoSchedule``) while others leave."""


class EndPods(Step, frozen=True, kw_only=True):
    """End the victims of one priority, all at once; the next step waits until they are gone, or `wait_s`."""

    priority: int
    victims: tuple[Victim, ...]
    wait_s: float
    """Then the event ``ExceededGracePeriod`` is told, and the plan goes on."""


class Release(Step, frozen=True, kw_only=True):
    """Hold the pods to the new size for good, once they use no more than that or have had their time.

    Waits until ``memory.current`` of kubepods is at most `limit`, at the longest `squeeze_s`; after that the
    kernel may kill, which is told (``NodeResizeForced``). Then the node is open and the generation is finished.
    """

    path: str
    limit: Bytes | None = None
    """None: nothing was squeezed, there is nothing to wait for."""
    files: dict[str, str] = {}
    squeeze_s: float = 0.0


ResizeStep = (
    Squeeze | HoldPods | TuneContainer | SaveManagers | PinContainers | Publish | ReportNode | EndPods | Release
)
