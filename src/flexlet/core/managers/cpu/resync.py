"""The book after the machine changed under running pods: CPUs came, went, or both.

New CPUs are shared. Reserved CPUs stay reserved. A container that lost CPUs of its own gets others; if none are
left, the least important pod with CPUs of its own goes, be it this one or another whose CPUs then serve. Nobody
is moved to a better place.
"""

from collections.abc import Iterator, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu import reservation
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Move, Outcome
from flexlet.core.managers.cpu.refusals import not_enough
from flexlet.core.managers.cpu.replacing import balanced, reduced, replaced
from flexlet.core.managers.cpu.static import available, pool, release, union
from flexlet.core.managers.cpu.validation import problems
from flexlet.core.managers.cpu.writes import writes
from flexlet.core.managers.state import CpuState, Refusal
from flexlet.errors import InvariantBroken


class _Round(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: all that stays the same while the pods are served one after another."""

    ground: Ground
    pods: Sequence[PodClaim]
    before: Machine | None
    safe: frozenset[str]


class _Progress(msgspec.Struct, frozen=True):
    state: CpuState
    victims: dict[str, Refusal] = {}


def resync(
    state: CpuState,
    ground: Ground,
    pods: Sequence[PodClaim],
    *,
    before: Machine | None = None,
    safe: frozenset[str] = frozenset(),
) -> Outcome:
    """The book for the machine of `ground`; the same book if nothing concerns it.

    `pods` are all that keep their place, most important first; pods that are terminating come last and keep their
    CPUs too. Whoever is in the book and not among them gives its CPUs back. `before` tells on which NUMA nodes the
    lost CPUs were. `safe` pods (static, critical) are never victims: without replacement they keep what is left.
    """
    if not ground.settings.pins_cpus:
        return Outcome(state=state)
    asked = _Round(ground=ground, pods=pods, before=before, safe=safe)
    done = _with_pool(asked, _Progress(_settled(_without_strangers(state, pods), ground)))
    for place, pod in enumerate(pods):
        done = _served(asked, done, place, pod)
    _check(done.state, ground)
    short = reservation.is_short(done.state.reserved, ground)
    return Outcome(
        state=done.state,
        reassigned=tuple(_moves(state, done.state)),
        victims=done.victims,
        notes=(reservation.MISSING,) if short else (),
        writes=writes(state, done.state, ground.online, pods),
    )


def _without_strangers(state: CpuState, pods: Sequence[PodClaim]) -> CpuState:
    known = {pod.uid for pod in pods}
    for uid in sorted((state.entries.keys() | state.pod_entries.keys()) - known):
        state = release(state, uid)
    return state


def _settled(state: CpuState, ground: Ground) -> CpuState:
    """With the CPUs of this machine reserved and shared; pods may still hold what is gone."""
    reserved = reservation.kept(state, ground)
    return balanced(msgspec.structs.replace(state, reserved=reserved), ground)


def _with_pool(asked: _Round, done: _Progress) -> _Progress:
    """Somebody must go if there is no CPU at all for those who share."""
    holders = _holders(asked, done, 0)
    if pool(done.state) or not holders:
        return done
    freed = _settled(release(done.state, holders[0]), asked.ground)
    return _with_pool(asked, _Progress(freed, done.victims | {holders[0]: _lost_all(done.state, holders[0], 0)}))


def _served(asked: _Round, done: _Progress, place: int, pod: PodClaim) -> _Progress:
    """With replacements for one pod, at the cost of less important ones if it must be."""
    served = _at_cost(asked, done.state, place, [])
    if not isinstance(served, Refusal):
        return _Progress(served, done.victims)
    least = _holders(asked, done, place + 1)
    for count in range(1, len(least) + 1):
        if not isinstance(_at_cost(asked, done.state, place, least[:count]), Refusal):
            return _paid(asked, done, place, least[:count])
    if pod.uid not in asked.safe:
        freed = _settled(release(done.state, pod.uid), asked.ground)
        return _Progress(freed, done.victims | {pod.uid: served})
    left = reduced(done.state, asked.ground, pod.uid, _allowed(asked, done.state, place))
    return _Progress(left, done.victims)


def _paid(asked: _Round, done: _Progress, place: int, least: list[str]) -> _Progress:
    """With as few victims as will do: the most important of them was needed, the others perhaps not."""
    for spared in reversed(least[:-1]):
        fewer = [other for other in least if other != spared]
        if not isinstance(_at_cost(asked, done.state, place, fewer), Refusal):
            least = fewer
    paid = _at_cost(asked, done.state, place, least)
    if isinstance(paid, Refusal):  # cannot be: the same was asked before
        raise InvariantBroken(f"CPUs of {', '.join(least)} served pod {asked.pods[place].uid} and then did not")
    spare = len(available(paid, asked.ground))
    lost = {other: _lost_all(done.state, other, spare) for other in least}
    return _Progress(paid, done.victims | lost)


def _at_cost(asked: _Round, state: CpuState, place: int, victims: list[str]) -> CpuState | Refusal:
    """The book in which the pod at this place has all its CPUs, and these pods none."""
    for victim in victims:
        state = release(state, victim)
    state = _settled(state, asked.ground)
    return replaced(state, asked.ground, asked.pods[place], _allowed(asked, state, place), asked.before)


def _allowed(asked: _Round, state: CpuState, place: int) -> CpuSet:
    """What a pod may have: what is there, not reserved, and not with a more important pod."""
    first = {pod.uid for pod in asked.pods[:place]}
    sets = [union(own) for uid, own in state.entries.items() if uid in first]
    sets += [own for uid, own in state.pod_entries.items() if uid in first]
    return asked.ground.online - state.reserved - CpuSet.of(cpu for cpus in sets for cpu in cpus)


def _holders(asked: _Round, done: _Progress, place: int) -> list[str]:
    """Who could give way from this place on, the least important first."""
    later = [pod.uid for pod in reversed(asked.pods[place:])]
    return [uid for uid in later if uid in done.state.entries and uid not in asked.safe]


def _lost_all(state: CpuState, uid: str, spare: int) -> Refusal:
    """Why a pod goes whose CPUs serve another: it would not find as many again."""
    return not_enough(max(map(len, state.entries[uid].values())), spare)


def _moves(before: CpuState, after: CpuState) -> Iterator[Move]:
    for uid, sets in after.entries.items():
        for name, cpus in sets.items():
            was = before.cpus_of(uid, name)
            if was is not None and was != cpus:
                yield Move(uid, name, was, cpus)


def _check(state: CpuState, ground: Ground) -> None:
    """The checks of a start, of which strict reservation alone may break one: it may give out all the rest."""
    found = () if ground.strict and not state.shared else problems(state, ground)
    if found:
        raise InvariantBroken(f"the CPU manager's book is wrong after a change of the machine: {'; '.join(found)}")
