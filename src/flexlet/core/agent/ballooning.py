"""The balloons among a node's pods: how much they leave to the others, and what they say shall be enforced.

Where several agents share a host, other pods get no more than the host's ledger says, though the balloons leave
them more: `offered` is then less than what the node has.
"""

from collections.abc import Iterable, Iterator

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.balloon import enforcement, names
from flexlet.core.balloon.enforcement import Limits
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.resize import neighbours
from flexlet.core.resize.allocation import applied
from flexlet.core.resize.neighbours import Neighbour
from flexlet.core.resources.amounts import as_integers
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.names import COMPUTE, CPU, MEMORY


def balloons(world: World) -> list[PodRecord]:
    """Those that hold room."""
    return [
        each
        for each in active(world).values()
        if each.admission == ADMITTED and each.allocation is not None and is_balloon(each.pod)
    ]


def effective(world: World) -> dict[str, int]:
    """What is left beside the balloons: thousandths of a CPU, bytes.

    One that is asked to be smaller counts as that already, one that wants more counts as it is: pods may use the
    larger of now and soon.
    """
    size = as_integers(world.setup.allocatable)
    held = [_smaller(each, world) for each in balloons(world)]
    return {name: size.get(name, 0) - sum(each.get(name, 0) for each in held) for name in COMPUTE}


def offered(world: World) -> ResourceList:
    """What pods may have together with the balloons; those have what they were granted in any case."""
    size = world.setup.allocatable
    if world.claim is None:
        return size
    held = neighbours.used(_neighbour(each, world) for each in active(world).values() if is_balloon(each.pod))
    most = {name: amount + held.get(name, 0) for name, amount in world.claim.items()}
    return size | {name: min(size[name], _amount(name, amount)) for name, amount in most.items() if name in size}


def workload(world: World) -> dict[str, int]:
    """What pods hold that are no balloons."""
    return neighbours.used(_neighbour(each, world) for each in active(world).values() if not is_balloon(each.pod))


def wanted(world: World) -> Limits | None:
    """What pods shall be held to, None if there is no balloon to say so; InputError if one says nonsense."""
    here = balloons(world)
    if not here:
        return None
    said = [enforcement.read(text) for text in _said(here)]
    return enforcement.limits(said, effective(world), _margin(world))


def _neighbour(record: PodRecord, world: World) -> Neighbour:
    """How it counts; one that was not let in holds nothing."""
    found = neighbours.neighbour(record.pod, record.granted or record.allocation, world.setup.gates)
    is_in = record.granted is not None or record.admission == ADMITTED
    return found if is_in else msgspec.structs.replace(found, held={})


def _amount(name: str, amount: int) -> Quantity:
    return Quantity.of_milli(amount) if name == CPU else Quantity.of_bytes(amount)


def _said(here: Iterable[PodRecord]) -> Iterator[str]:
    for each in here:
        text = each.pod.metadata.annotations.get(names.ENFORCE)
        if text:
            yield text


def _smaller(record: PodRecord, world: World) -> dict[str, int]:
    gates = world.setup.gates
    assert record.allocation is not None  # noqa: S101 balloons that hold room have one
    granted = as_integers(pod_requests(applied(record.pod, record.allocation, gates)))
    asked = as_integers(pod_requests(record.pod))
    return {name: min(amount, asked.get(name, amount)) for name, amount in granted.items()}


def _margin(world: World) -> int:
    """Between what pods may request and what they may use lies the threshold of eviction."""
    size = as_integers(world.setup.allocatable).get(MEMORY, 0)
    return max(0, world.setup.host.allocatable_memory - size)
