"""What is true at every moment of a node's life, looked at whenever something could break it.

- What is allocated fits the node. If the node itself shrank below it, nothing makes it worse but the least that a
  balloon keeps: one may be heard of again only after critical pods have taken all there is.
- A cgroup is never given more than the one above it: pods grow before their containers, and shrink after them. (A
  container without a limit of its own has the pod's, whatever its file says.)
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from flexlet.adapters.sim.machine import Machine
from flexlet.api.units import MIB
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.record import REJECTED, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.resize.conditions import ERROR
from flexlet.core.resources.effective import pod_requests
from flexlet.engine.agent.ledger import ALLOCATED
from flexlet.testing import SimulatedNode

_LIMITS: Final = ("memory.max", "cpu.max")
_MEASURED: Final = ("cpu", "memory")
_LEAST: Final = {"cpu": 1, "memory": 16 * MIB * 1000}


class Watch:
    """Looks over the shoulder of the agents of one node; `broken` says what it saw."""

    def __init__(self, node: SimulatedNode) -> None:
        self.broken: list[str] = []
        self._node = node
        self._held: dict[str, int] = dict.fromkeys(_MEASURED, 0)
        self._save, self._write = node.checkpoints.save, node.sim.kernel.write
        node.checkpoints.save = self._saved  # type: ignore[method-assign]
        node.sim.kernel.write = self._wrote  # type: ignore[method-assign]

    async def _saved(self, name: str, data: bytes) -> None:
        await self._save(name, data)
        if self._node.agent is not None and name == ALLOCATED:
            self._weigh(self._node.agent.loop.world)

    def _weigh(self, world: World) -> None:
        held = {name: sum(amounts) for name, amounts in _allocated(world).items()}
        for name, amount in held.items():
            there = world.setup.allocatable[name].milli
            if amount - _least(world, name) > max(there, self._held[name]):
                self.broken.append(f"{name}: {amount} allocated, {self._held[name]} before, {there} there")
        self._held = held

    def _wrote(self, path: str, name: str, text: str) -> None:
        self._write(path, name, text)
        if name in _LIMITS and "/pod" in path and not self._is_in_trouble(path):
            self.broken += _wider(self._node.sim.kernel.machine, path, name)

    def _is_in_trouble(self, path: str) -> bool:
        """Whether the kernel has just refused to let the pod grow; its containers start all the same."""
        records = self._node.agent.loop.world.pods.values() if self._node.agent is not None else ()
        progress = [each.resize.in_progress for each in records if each.uid in path]
        return any(each is not None and each.reason == ERROR for each in progress)


def _least(world: World, name: str) -> int:
    """What balloons keep however little there is, in thousandths."""
    return _LEAST[name] * sum(is_balloon(each.pod) for each in active(world).values())


def _allocated(world: World) -> dict[str, list[int]]:
    """Requests of all pods that hold room, by resource, in thousandths."""
    records = [each for each in active(world).values() if each.admission != REJECTED]
    lists = [pod_requests(as_allocated(each, world.setup)) for each in map(_granted, records) if each is not None]
    return {name: [each[name].milli for each in lists if name in each] for name in _MEASURED}


def _granted(record: PodRecord) -> PodRecord | None:
    allocation = record.granted or record.allocation
    return None if allocation is None else replace(record, allocation=allocation)


def _wider(machine: Machine, path: str, name: str) -> Iterable[str]:
    """Containers that were given more than their pod has."""
    head, _, below = path.rpartition("/pod")
    pod = f"{head}/pod{below.partition('/')[0]}"
    limit = _amount(machine.cgroups[pod].files[name])
    children = [each for each in machine.below(pod) if each != pod]
    if limit is None:
        return
    for child in children:
        own = _amount(machine.cgroups[child].files[name])
        if own is not None and own > limit:
            yield f"{name}: {child} has {own}, its pod {limit}"


def _amount(text: str) -> int | None:
    word = text.split(maxsplit=1)[0]
    return None if word == "max" else int(word)
