"""What another size of the machine means for its node: the steps that follow, and whom they concern.

One flow for both directions, because one reading may hold both; `ordering` says which step comes when.

Planning again after a part was done is harmless: steps name what shall be, and a plan is made from what the node
last published and from the pods that are there now.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from flexlet.api.quantity import ZERO
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.ordering import in_order, is_provisional
from flexlet.core.hotplug.readmission import readmitted
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.settling import Settled, Situation, settle
from flexlet.core.hotplug.steps import ResizeStep, TuneContainer
from flexlet.core.hotplug.tuning import tunes
from flexlet.core.hotplug.victims import Victim
from flexlet.core.hotplug.view import NodeView
from flexlet.core.hotplug.view import view as view_of
from flexlet.core.machine.difference import difference, lost_cpus
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.resync import Move
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resources.names import CPU

BELOW_RESERVED: Final = "BelowReserved"
PODS_OVER_CAPACITY: Final = "PodsOverCapacity"


class NoChange(msgspec.Struct, frozen=True):
    """There is nothing to do, and why."""

    why: str


class ResizePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps to another size, and what there is to tell about it."""

    before: Generation
    """What the node had published last."""
    generation: Generation
    was: NodeView
    view: NodeView
    steps: tuple[ResizeStep, ...]
    victims: tuple[Victim, ...] = ()
    """In the order in which they were found."""
    short: tuple[Victim, ...] = ()
    """Who has no room and is not evicted by this plan."""
    is_provisional: bool = False
    """Whether another plan follows when the shortage has lasted: limits that kill are left to that."""
    allocations: dict[str, Allocation] = {}
    """Balloons that become smaller, by uid."""
    reassigned: tuple[Move, ...] = ()
    """Containers that were given other CPUs for their own."""
    notes: tuple[str, ...] = ()
    """Reasons for the condition NodeResize that hold once everything is done."""


def plan(
    before: Generation,
    machine: Machine,
    seen_at: float,
    situation: Situation,
    unfinished: Generation | None = None,
    tried: Sequence[Machine] = (),
    worn: Sequence[Machine] = (),
    *,
    continues: bool = False,
) -> ResizePlan | NoChange:
    """The steps from `before` to the machine as it is now.

    `unfinished` is a generation that was published after `before` and whose steps were not all done, because the
    agent died or because the machine changed again. `tried` are sizes that were given up before they were
    published: cgroups and containers may have what was meant for them. `worn` are those before, of which single
    containers may have values still. `continues` is whether this is more of what began with `unfinished`, as when
    a DIMM leaves block by block: then it is the same generation, told from where that began.
    """
    last = unfinished or before
    following = _following(last, machine, seen_at, resumed=unfinished is not None or bool(tried))
    others = [each for each in (before.machine, *tried) if difference(each, machine)]
    if not others and not following.changes and unfinished is None:
        return NoChange("the machine is as it was")
    counted = (before.machine, last.machine)
    if (closed := gated(machine, counted, situation.resize)) is not None:
        return NoChange(closed)
    sizes = tuple(_view(each, situation) for each in (before.machine, *tried, last.machine))
    view = _view(machine, situation)
    less = _has_less((sizes[0], sizes[-1]), view, situation)
    lost = any(lost_cpus(each, machine) for each in counted)
    settled = settle(last.machine, machine, view, situation, shrank=less, lost=lost)
    if continues and not settled.victims:
        following = _continued(before, last, machine)
    tuned = _tunes((*(_view(each, situation) for each in worn), *sizes), view, situation)
    return ResizePlan(
        before=last,
        generation=following,
        was=sizes[0] if continues else sizes[-1],
        view=view,
        steps=tuple(in_order(following, sizes, view, settled, situation, tuned)),
        victims=settled.victims,
        short=settled.short,
        is_provisional=is_provisional(settled, situation),
        allocations=settled.allocations,
        reassigned=settled.resynced.reassigned,
        notes=_notes(view, settled, situation),
    )


def remaining(machine: Machine, situation: Situation) -> tuple[str, ...]:
    """What is short on a node at rest; it may be more or less than when its size changed."""
    view = _view(machine, situation)
    return _notes(view, settle(machine, machine, view, situation, shrank=True), situation)


def late(worn: Iterable[Machine], machine: Machine, situation: Situation) -> tuple[TuneContainer, ...]:
    """For containers that may have values of other sizes still, or again."""
    sizes = tuple(_view(each, situation) for each in worn)
    return _tunes(sizes, _view(machine, situation), situation) if sizes else ()


def _notes(view: NodeView, settled: Settled, situation: Situation) -> tuple[str, ...]:
    """What is short on this size, also if nothing became less on the way to it and nobody was asked for room."""
    below = [BELOW_RESERVED] if view.below_reserved else []
    room = readmitted(situation.tenants, view.allocatable, situation.resize)
    kept = situation.resize.evict == "never" and (settled.victims or settled.short)
    over = [PODS_OVER_CAPACITY] if kept else []
    return tuple(dict.fromkeys((*below, *over, *room.notes, *settled.notes)))


def _following(last: Generation, machine: Machine, seen_at: float, *, resumed: bool) -> Generation:
    """The generation to come; one that is taken up again keeps its number and its story."""
    changes = difference(last.machine, machine)
    if resumed and not changes:
        return last
    return Generation(number=last.number + 1, machine=machine, changes=changes, seen_at=seen_at)


def _continued(before: Generation, last: Generation, machine: Machine) -> Generation:
    """The same generation, further on; without changes if everything is as it was before it."""
    return msgspec.structs.replace(last, machine=machine, changes=difference(before.machine, machine))


def gated(machine: Machine, before: Iterable[Machine], settings: ResizeSettings) -> str | None:
    """Why the node does not follow from these machines to this one, None if it does."""
    if not settings.plug:
        return "the feature gate NodeResourceHotPlug is off"
    less = {name for each in before for name in _less(each, machine)}
    if less and not settings.unplug:
        return f"there is less {', '.join(sorted(less))}, and the feature gate NodeResourceHotUnPlug is off"
    return None


def _less(before: Machine, after: Machine) -> Iterator[str]:
    """What was unplugged; a CPU is, too, if another came in its place."""
    yield from (each.resource for each in difference(before, after) if each.direction == "decrease")
    if lost_cpus(before, after):
        yield CPU


def _has_less(sizes: tuple[NodeView, ...], view: NodeView, situation: Situation) -> bool:
    """Whether pods have less of anything; new huge pages, for one, are taken from memory."""
    return situation.resize.unplug and any(
        view.allocatable.get(name, ZERO) < amount for size in sizes for name, amount in size.allocatable.items()
    )


def _view(machine: Machine, situation: Situation) -> NodeView:
    return view_of(
        machine,
        situation.node,
        situation.managing,
        critical_usage=situation.critical_usage,
        enforce=situation.enforce,
    )


def _tunes(sizes: tuple[NodeView, ...], view: NodeView, situation: Situation) -> tuple[TuneContainer, ...]:
    hosts = [size.host for size in sizes]
    oom = situation.resize.rewrites_oom_scores
    return tunes(situation.tenants, hosts, view.host, situation.cgroups, oom=oom)
