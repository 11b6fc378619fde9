"""Who stays where on a machine of another size: room and the managers' books brought to agree.

First everybody is asked for room, then the managers are asked about those who have it. Whoever the managers cannot
serve has to go too, and with that there is more room, so the question is put again without it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from flexlet.api.pod import Pod, ResourceList
from flexlet.api.units import Bytes
from flexlet.core.cgroups.paths import CGROUPFS
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.hotplug import victims
from flexlet.core.hotplug.readmission import Readmission, in_order, readmitted
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.hotplug.victims import Victim
from flexlet.core.hotplug.view import NodeView
from flexlet.core.machine.machine import Machine
from flexlet.core.managers import resync as books
from flexlet.core.managers.claims import PodClaim, claim
from flexlet.core.managers.cpu.outcome import Write
from flexlet.core.managers.cpu.writes import writes
from flexlet.core.managers.resync import Resynced
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Managers, Refusal
from flexlet.core.node.settings import NodeSettings
from flexlet.core.resize.allocation import Allocation, applied

Resync = Callable[
    [Managers, ManagerSettings, Machine, Machine, Sequence[PodClaim], frozenset[str]],
    Resynced,
]


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan depends on besides the two machines."""

    node: NodeSettings
    resize: ResizeSettings
    managing: ManagerSettings = ManagerSettings()
    managers: Managers = Managers()
    cgroups: CgroupSettings = DEFAULTS
    driver: str = CGROUPFS
    tenants: tuple[Tenant, ...] = ()
    critical_usage: Bytes = Bytes(0)
    """``memory.current`` of all critical pods together."""
    pressed: bool = False
    """Whether memory is so short that pods cannot be given their time: available memory below the hard eviction
    threshold, or all tasks stalled for more than a fifth of the last ten seconds (PSI full avg10 > 20)."""
    enforce: bool = True
    """Whether ``enforceNodeAllocatable`` names pods."""
    evicts: bool = True
    """Whether pods without room are evicted now; else they stay as well as they can, and are named."""
    resync: Resync = books.resync
    """How the managers follow."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """Who goes, who becomes smaller, and the books of those who stay."""

    victims: tuple[Victim, ...] = ()
    short: tuple[Victim, ...] = ()
    """Who has no room and stays for now: the machine may get back what it lost."""
    allocations: dict[str, Allocation] = {}
    resynced: Resynced
    cpusets: tuple[Write, ...] = ()
    """Of everybody who runs, victims included: their CPUs may have a new owner before they are dead."""
    notes: tuple[str, ...] = ()


def settle(
    before: Machine,
    after: Machine,
    view: NodeView,
    situation: Situation,
    *,
    shrank: bool,
    lost: bool = False,
) -> Settled:
    """Find out who can stay on the machine as it is now; if nothing became less nobody is asked for room.

    `lost` is whether CPUs are gone, even if others came: who then has none of its own, and a claim to them, goes.
    """
    gone: dict[str, Victim] = {}
    safe = frozenset(each.uid for each in situation.tenants if each.is_critical or each.is_balloon)
    while True:
        rest = [each for each in situation.tenants if each.uid not in gone]
        room = readmitted(rest, view.allocatable, situation.resize) if shrank else _everybody(rest, situation)
        found = situation.resync(situation.managers, situation.managing, before, after, _claims(rest, room), safe)
        refused = found.victims | (found.unplaced if shrank or lost else {})
        more = _displaced(rest, room, refused, situation)
        if not more:
            without_room = (*room.victims, *gone.values())
            if without_room and not situation.evicts:
                claims = _claims(rest, room, without_room)
                found = _with_everybody(found, (before, after), room, claims, safe, situation)
            cpusets = _cpusets(found.managers, after, situation)
            return _settled(without_room, room, found, cpusets, situation)
        gone |= more


def still_holds(planned: Situation, now: Situation) -> bool:
    """Whether what was planned may be published: meanwhile nobody came, went, was resized or was given CPUs.

    Steps take time and the agent goes on admitting. Whoever publishes asks this in the same turn of the loop, and
    plans again if it is not so: the steps taken already are steps of that plan, too.
    """
    return planned.managers == now.managers and _rooms(planned) == _rooms(now)


def _rooms(situation: Situation) -> dict[str, tuple[bool, ResourceList]]:
    return {each.uid: (each.leaving, each.requests) for each in situation.tenants}


def _everybody(tenants: Iterable[Tenant], situation: Situation) -> Readmission:
    staying = in_order((each for each in tenants if not each.leaving), situation.resize)
    return Readmission(stays=tuple(each.uid for each in staying))


def _claims(tenants: Iterable[Tenant], room: Readmission, short: Iterable[Victim] = ()) -> list[PodClaim]:
    """What those who stay have a claim to, the most important first; last come those who are leaving anyway."""
    by_uid = {each.uid: each for each in tenants}
    staying = [claim(_sized(by_uid[uid].pod, room)) for uid in room.stays]
    waiting = [claim(by_uid[each.uid].pod) for each in short if each.uid in by_uid]
    return [*staying, *waiting, *(claim(each.pod) for each in by_uid.values() if each.leaving)]


def _with_everybody(
    found: Resynced,
    machines: tuple[Machine, Machine],
    room: Readmission,
    claims: Sequence[PodClaim],
    safe: frozenset[str],
    situation: Situation,
) -> Resynced:
    """The books with those, too, who have no room: they keep CPUs and memory of their own that still exist.

    Unless that is at the expense of somebody who has room.
    """
    wider = situation.resync(situation.managers, situation.managing, *machines, claims, safe)
    refused = wider.victims.keys() | wider.unplaced.keys()
    return wider if refused.isdisjoint(room.stays) else found


def _sized(pod: Pod, room: Readmission) -> Pod:
    smaller = room.allocations.get(pod.metadata.uid)
    return pod if smaller is None else applied(pod, smaller)


def _displaced(
    tenants: Iterable[Tenant], room: Readmission, refused: Mapping[str, Refusal], situation: Situation
) -> dict[str, Victim]:
    by_uid = {each.uid: each for each in tenants if each.uid in room.stays}
    return {
        uid: victims.displaced(by_uid[uid], refusal, situation.resize)
        for uid, refusal in refused.items()
        if uid in by_uid and situation.resize.unplug
    }


def _settled(
    ended: tuple[Victim, ...],
    room: Readmission,
    found: Resynced,
    cpusets: tuple[Write, ...],
    situation: Situation,
) -> Settled:
    told = tuple(victims.pressed(each) for each in ended) if situation.pressed else ended
    return Settled(
        victims=told if situation.evicts else (),
        short=() if situation.evicts else told,
        allocations=room.allocations,
        resynced=found,
        cpusets=cpusets,
        notes=tuple(dict.fromkeys((*room.notes, *found.notes))),
    )


def _cpusets(books: Managers, machine: Machine, situation: Situation) -> tuple[Write, ...]:
    if not situation.managing.pins_cpus:
        return ()
    running = {each.uid: each.running for each in situation.tenants}
    everybody = [claim(each.pod) for each in situation.tenants]
    found = writes(situation.managers.cpu, books.cpu, machine.online, everybody)
    return tuple(write for write in found if write.container in running.get(write.uid, {}))
