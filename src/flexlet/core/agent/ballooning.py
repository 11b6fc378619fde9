"""The balloons among a node's pods: how much they leave to the others, and what they say shall be enforced."""

from collections.abc import Iterable, Iterator

from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.balloon import enforcement, names
from flexlet.core.balloon.enforcement import Limits
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.resize.allocation import applied
from flexlet.core.resources.amounts import as_integers
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.names import COMPUTE, MEMORY


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


def wanted(world: World) -> Limits | None:
    """What pods shall be held to, None if there is no balloon to say so; InputError if one says nonsense."""
    here = balloons(world)
    if not here:
        return None
    said = [enforcement.read(text) for text in _said(here)]
    return enforcement.limits(said, effective(world), _margin(world))


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
