"""When each probe of each run is asked."""

from flexlet.core.agent.deeds import RunProbe
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup


def due(record: PodRecord, setup: NodeSetup, now: float) -> tuple[tuple[RunProbe, ...], float | None]:
    """The questions to ask now, and when to look again (None: only when something else happens)."""
    del record, setup, now
    return (), None
