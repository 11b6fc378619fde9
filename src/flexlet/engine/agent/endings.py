"""The node itself ends pods: evicted, or shut down with the machine."""

from collections.abc import Mapping

import msgspec

from flexlet.core.agent.record import Ending
from flexlet.core.agent.world import World
from flexlet.engine.agent.loop import Change


def ended(endings: Mapping[str, Ending]) -> Change:
    """Pods that end now, by uid; one that ends already keeps its reason."""

    def change(world: World) -> World:
        found = {uid: (world.pods.get(uid), ending) for uid, ending in endings.items()}
        return world.with_pods(
            {
                uid: msgspec.structs.replace(record, ending=ending)
                for uid, (record, ending) in found.items()
                if record is not None and record.ending is None and not record.stopped
            }
        )

    return change


def alive(world: World) -> frozenset[str]:
    """Uids of pods that have not ended."""
    return frozenset(uid for uid, record in world.pods.items() if not record.stopped)
