"""What is true at every moment while a node follows its machine, looked at whenever something could break it.

The answers come from a model of its own, as simple as possible: pods are counted one after the other, the most
important first, and whoever is ended must not have fitted beside those before it that stay.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final
from unittest import mock

import msgspec
from tests.engine.agent.resizing import rig

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import MIB
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.plan import NoChange, ResizePlan, plan
from flexlet.core.hotplug.settling import Situation
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.files import CPU_FILE
from flexlet.engine.agent.resizing import resizer
from flexlet.testing import SimulatedNode

_COUNTED: Final = ("cpu", "memory", "hugepages-2Mi")
_FLOOR: Final = {"cpu": 1, "memory": 16 * MIB * 1000, "hugepages-2Mi": 0}
"""What a balloon keeps, in thousandths."""
_CLASSES: Final = ("Guaranteed", "Burstable", "BestEffort")


class Watch:
    """Looks over the shoulder of the agents of one node; `broken` says what it saw."""

    def __init__(self, node: SimulatedNode) -> None:
        self.broken: list[str] = []
        self.victims: set[str] = set()
        """Uids of all who were ever to be ended."""
        self.fails: list[str] = []
        """Names of files that cannot be written the next time."""
        self._number = 0
        self._save = node.checkpoints.save
        node.checkpoints.save = self._saved  # type: ignore[method-assign]

    def planning(self) -> "mock._patch[Any]":
        """While this is entered every plan is looked at."""
        return mock.patch.object(resizer, "plan", self._plan)

    async def _saved(self, name: str, data: bytes) -> None:
        if name in self.fails:
            self.fails.remove(name)
            raise rig.full(name)
        await self._save(name, data)
        if name == CPU_FILE:
            self.broken += _overlaps(msgspec.json.decode(data))
        if name == saved.FILE:
            self._counts(data)

    def _counts(self, data: bytes) -> None:
        kept = saved.parse_or_none(data)
        assert kept is not None
        if kept.generation.number < self._number:
            self.broken.append(f"generation {kept.generation.number} after {self._number}")
        self._number = kept.generation.number

    def _plan(self, before: Any, machine: Machine, at: float, situation: Situation, *more: Any, **how: Any) -> Any:
        found: ResizePlan | NoChange = plan(before, machine, at, situation, *more, **how)
        if isinstance(found, ResizePlan):
            self.victims |= {each.uid for each in found.victims}
            self.broken += judged(found, situation, machine)
        return found


def _overlaps(book: Any) -> Iterator[str]:
    """No CPU has two owners in the CPU manager's file, and CPU 0, which is reserved, has none."""
    own = {uid: CpuSet.parse(text) for uid, sets in book.get("entries", {}).items() for text in sets.values()}
    for (one, these), (other, those) in itertools.combinations([*own.items(), ("", _shared(book))], 2):
        if these & those:
            yield f"{one} and {other or 'everybody'} have CPUs {these & those} for themselves"
    yield from (f"{uid} was given CPU 0, which is reserved" for uid, cpus in own.items() if 0 in cpus)


def _shared(book: Any) -> CpuSet:
    return CpuSet.parse(book.get("defaultCpuSet", ""))


def judged(found: ResizePlan, situation: Situation, machine: Machine) -> Iterator[str]:
    """Pods that are ended and should not be."""
    ended = {each.uid: each for each in found.victims}
    there = {name: amount.milli for name, amount in found.view.allocatable.items()}
    present = [each for each in situation.tenants if not each.leaving]
    floating = sum(each.is_balloon for each in present)
    used = {name: floating * _FLOOR[name] for name in _COUNTED}
    own = 0
    for each in sorted((each for each in present if not each.is_balloon), key=_importance):
        wants, cpus = _wants(each), _own_cpus(each) if situation.managing.pins_cpus else 0
        if each.uid in ended:
            if each.is_critical:
                yield f"{each.name} is critical and was ended"
            short = [name for name in _COUNTED if wants[name] and used[name] + wants[name] > there.get(name, 0)]
            if not short and not (cpus and own + cpus > len(machine.cpus) - 1):
                yield f"{each.name} would have fitted: {ended[each.uid]} on {there} beside {used}"
            continue
        own += cpus
        used = {name: used[name] + wants[name] for name in _COUNTED}
    yield from (f"{uid} is a balloon or was leaving, and was ended" for uid in ended.keys() - _uids(present))


def _uids(tenants: Iterable[Tenant]) -> set[str]:
    return {each.uid for each in tenants if not each.is_balloon}


def _importance(each: Tenant) -> tuple[Any, ...]:
    meta = each.pod.metadata
    return (not each.is_critical, -each.priority, _CLASSES.index(each.qos), meta.creation_timestamp, each.uid)


def _wants(each: Tenant) -> dict[str, int]:
    """In thousandths, over all containers."""
    lists = [container.resources.requests for container in each.pod.spec.containers]
    return {name: sum(one[name].milli for one in lists if name in one) for name in _COUNTED}


def _own_cpus(each: Tenant) -> int:
    lists = [container.resources.requests for container in each.pod.spec.containers]
    whole = [one["cpu"].milli // 1000 for one in lists if "cpu" in one and one["cpu"].milli % 1000 == 0]
    return sum(whole) if each.qos == "Guaranteed" else 0
