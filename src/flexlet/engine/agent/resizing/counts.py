"""Counts of `core.hotplug.metrics`, counted, and what is known of the machine's parts, shown."""

from collections.abc import Iterable

from flexlet.core.hotplug.metrics import HALF_PLUGGED, OVERRUNS, UEVENTS, Count
from flexlet.engine.agent.detecting import Detecting
from flexlet.ports.meters import Meters


def count(meters: Meters, counts: Iterable[Count]) -> None:
    """Count each of them once."""
    for each in counts:
        meters.count(each.metric.name, dict(zip(each.metric.labels, each.labels, strict=True)))


def show(meters: Meters, detecting: Detecting) -> None:
    """What was heard of the machine, and which parts of it wait; looked up when somebody asks."""
    for (subsystem, action), heard in detecting.uevents.items():
        meters.set(UEVENTS.name, {"subsystem": subsystem, "action": action}, heard)
    meters.set(OVERRUNS.name, value=detecting.overruns)
    for kind, waiting in detecting.half_plugged().items():
        meters.set(HALF_PLUGGED.name, {"kind": kind}, waiting)
