"""Counts of `core.hotplug.metrics`, counted."""

from collections.abc import Iterable

from flexlet.core.hotplug.metrics import Count
from flexlet.ports.meters import Meters


def count(meters: Meters, counts: Iterable[Count]) -> None:
    """Count each of them once."""
    for each in counts:
        meters.count(each.metric.name, dict(zip(each.metric.labels, each.labels, strict=True)))
