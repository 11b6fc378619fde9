"""The metrics of balloon.md §11 as Prometheus text."""

from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.core.nodesize.tally import BUCKETS, Tally
from flexlet.core.resources.names import CPU, MEMORY

HELP: Final = {
    "flexlet_balloon_cores": "Size of a node's balloons in CPUs.",
    "flexlet_balloon_bytes": "Size of a node's balloons in bytes of memory.",
    "flexlet_node_effective_cores": "What workloads may use of a node, in CPUs.",
    "flexlet_node_effective_bytes": "What workloads may use of a node, in bytes of memory.",
    "flexlet_balloon_headroom_cores": "By how much a node's balloons could grow, in CPUs.",
    "flexlet_balloon_headroom_bytes": "By how much a node's balloons could grow, in bytes of memory.",
    "flexlet_balloon_resize_total": "Resizes of balloons that came to an end.",
    "flexlet_balloon_resize_seconds": "From the request to the node's grant.",
    "flexlet_balloon_missing_seconds_total": "How long nodes were without their balloon.",
    "flexlet_balloon_drift_total": "How often somebody else resized a balloon.",
    "flexlet_balloon_victims_total": "Workloads that were killed to make room for a balloon.",
    "flexlet_balloon_overcommitted": "1 if pods ask for more than workloads may use.",
}
_KINDS: Final = ("desired", "allocated", "actual")


def render(tally: Tally) -> str:
    """Everything that is counted."""
    return "".join(
        (
            *_family("flexlet_balloon_cores", "gauge", _balloons(tally, CPU, 1000)),
            *_family("flexlet_balloon_bytes", "gauge", _balloons(tally, MEMORY, 1)),
            *_family("flexlet_node_effective_cores", "gauge", _per_node(tally, "effective", CPU, 1000)),
            *_family("flexlet_node_effective_bytes", "gauge", _per_node(tally, "effective", MEMORY, 1)),
            *_family("flexlet_balloon_headroom_cores", "gauge", _per_node(tally, "headroom", CPU, 1000)),
            *_family("flexlet_balloon_headroom_bytes", "gauge", _per_node(tally, "headroom", MEMORY, 1)),
            *_family("flexlet_balloon_resize_total", "counter", _resizes(tally)),
            *_family("flexlet_balloon_resize_seconds", "histogram", _seconds(tally)),
            *_family("flexlet_balloon_missing_seconds_total", "counter", _counts(tally.missing)),
            *_family("flexlet_balloon_drift_total", "counter", _counts(tally.drifts)),
            *_family("flexlet_balloon_victims_total", "counter", [("", "", sum(tally.victims.values()))]),
            *_family("flexlet_balloon_overcommitted", "gauge", _counts(tally.overcommitted)),
        )
    )


Sample = tuple[str, str, float]
"""What follows the name, labels, value."""


def _family(name: str, kind: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {HELP[name]}\n# TYPE {name} {kind}\n"
    for suffix, labels, value in samples:
        yield f"{name}{suffix}{{{labels}}} {value:.16g}\n" if labels else f"{name}{suffix} {value:.16g}\n"


def _balloons(tally: Tally, resource: str, unit: int) -> Iterator[Sample]:
    for node, known in sorted(tally.sizes.items()):
        for kind in _KINDS:
            yield "", f'node="{node}",kind="{kind}"', known[kind][resource] / unit


def _per_node(tally: Tally, what: str, resource: str, unit: int) -> Iterator[Sample]:
    for node, known in sorted(tally.sizes.items()):
        yield "", f'node="{node}"', known[what][resource] / unit


def _resizes(tally: Tally) -> Iterator[Sample]:
    for (direction, result), count in sorted(tally.resizes.items()):
        yield "", f'direction="{direction.lower()}",result="{result}"', count


def _seconds(tally: Tally) -> Iterator[Sample]:
    for direction, histogram in sorted(tally.seconds.items()):
        label, below = f'direction="{direction.lower()}"', 0
        for bound, count in zip((*BUCKETS, float("inf")), histogram.counts, strict=True):
            below += count
            yield "_bucket", f'{label},le="{bound:g}"'.replace("inf", "+Inf"), below
        yield "_sum", label, histogram.total
        yield "_count", label, below


def _counts(counts: dict[str, int] | dict[str, float] | dict[str, bool]) -> Iterator[Sample]:
    for node, count in sorted(counts.items()):
        yield "", f'node="{node}"', float(count)
