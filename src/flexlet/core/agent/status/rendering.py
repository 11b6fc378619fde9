"""A pod's whole API status from what the agent knows of it."""

from typing import Any

from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup


def render(record: PodRecord, setup: NodeSetup, now: float) -> dict[str, Any]:
    """The status as JSON; times that did not change are carried over from what was reported last."""
    del setup, now
    return dict(record.reported or {"phase": "Pending"})
