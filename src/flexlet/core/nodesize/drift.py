"""Sizes that somebody else gave to a balloon: they stand for a while, then the target wins (balloon.md §5.6)."""

from flexlet.core.controllers import conditions
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sizes import Amounts


def found(scene: Scene, goal: Amounts) -> set[str]:
    """Resources of the active balloon that are neither what was asked for nor what is wanted."""
    active, status = scene.active, scene.size.status
    if active is None or active.uid != status.pod:
        return set()
    return {
        r
        for r in sizes.RESOURCES
        if (record := scene.record(r)) is not None
        and record.result not in {"Pending", "Deferred"}
        and record.generation == scene.size.metadata.generation
        and active.spec[r] not in {sizes.of({r: record.requested})[r], goal[r]}
    }


def until(scene: Scene, now: float) -> float:
    """When the grace of a drift ends."""
    since = next((c for c in scene.size.status.conditions if c.type == "Drifted" and c.status == "True"), None)
    began = conditions.seconds(since.last_transition_time or "") if since else now
    return began + scene.settings.drift_grace_s
