"""The order of the steps to another size, for both directions at once.

What grows is given to cgroups and managers before it is published, so that nobody is refused by books that do not
know of it; what shrinks is published before pods end, so that nobody is scheduled onto what is gone. Memory is
squeezed softly first and limited for good last, so that the kernel has no reason to kill while pods still have
their grace.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.core.cgroups.paths import tier_path
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.settling import Settled, Situation
from flexlet.core.hotplug.steps import (
    EndPods,
    HoldPods,
    PinContainers,
    Publish,
    Release,
    ReportNode,
    ResizeStep,
    SaveManagers,
    Squeeze,
    TuneContainer,
)
from flexlet.core.hotplug.victims import Victim
from flexlet.core.hotplug.view import NodeView
from flexlet.core.managers.files import texts
from flexlet.core.resources.qos import GUARANTEED

_HARD: Final = ("memory.max", "hugetlb.")
_LEAST_WAIT_S: Final = 10.0


def in_order(
    generation: Generation,
    sizes: tuple[NodeView, ...],
    view: NodeView,
    settled: Settled,
    situation: Situation,
    tuned: tuple[TuneContainer, ...],
) -> Iterator[ResizeStep]:
    """The steps to `view`; `sizes` are those of which cgroups may have values now."""
    path, squeezed = tier_path(GUARANTEED, situation.driver), any(view.limit < size.limit for size in sizes)
    later = _later(sizes, view)
    if squeezed:
        yield Squeeze(path=path, limit=view.limit)
    yield HoldPods(path=path, files={name: text for name, text in view.kubepods.items() if name not in later})
    yield from tuned if squeezed else ()
    if texts(settled.resynced.managers) != texts(situation.managers):
        yield SaveManagers(managers=settled.resynced.managers)
    if settled.cpusets or settled.resynced.moved_memory:
        yield PinContainers(cpusets=settled.cpusets, memory=settled.resynced.moved_memory)
    yield Publish(
        generation=generation,
        view=view,
        managers=settled.resynced.managers,
        allocations=settled.allocations,
        victims=settled.victims,
    )
    yield ReportNode(generation=generation.number, closed=bool(settled.victims))
    yield from () if squeezed else tuned
    yield from _endings(settled.victims)
    if is_provisional(settled, situation):
        return
    yield Release(
        path=path,
        limit=view.limit if squeezed else None,
        files={name: view.kubepods[name] for name in sorted(later, reverse=True)},
        squeeze_s=situation.resize.squeeze_s,
    )


def is_provisional(settled: Settled, situation: Situation) -> bool:
    """Whether pods have no room and are waited for: the kernel must not kill whom nobody evicts yet."""
    return bool(settled.short) and situation.resize.evict == "persistent"


def _later(sizes: tuple[NodeView, ...], view: NodeView) -> frozenset[str]:
    """Files that would kill who still uses more: they wait until the pods have had their time.

    The squeeze ends with them, and after them: ``memory.max`` is written before ``memory.high`` is opened.
    """
    lower = {
        name
        for size in sizes
        for name, text in size.kubepods.items()
        if name.startswith(_HARD) and name in view.kubepods and int(view.kubepods[name]) < int(text)
    }
    return frozenset(lower | ({"memory.high"} if "memory.max" in lower else set()))


def _endings(victims: tuple[Victim, ...]) -> Iterator[EndPods]:
    """The least important first: if the machine grows again meanwhile, the others are spared."""
    for priority in sorted({each.priority for each in victims}):
        level = tuple(each for each in victims if each.priority == priority)
        wait_s = max(_LEAST_WAIT_S, 1.5 * max(each.grace_s for each in level))
        yield EndPods(priority=priority, victims=level, wait_s=wait_s)
