"""What is known of a container's health."""

from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup


def is_alive(record: PodRecord, setup: NodeSetup, container: str) -> bool:
    """Whether the present run may go on: neither its liveness nor its startup probe has failed."""
    del record, setup, container
    return True


def has_started(record: PodRecord, setup: NodeSetup, container: str) -> bool:
    """Whether the present run is up: it runs, its postStart hook is done, and its startup probe has succeeded."""
    del record, setup, container
    return True


def is_ready(record: PodRecord, setup: NodeSetup, container: str) -> bool:
    """Whether the present run can be sent work."""
    del record, setup, container
    return True


def failed_liveness(record: PodRecord, container: str) -> str | None:
    """The probe that condemned the present run, ``startup`` or ``liveness``; None if none did."""
    del record, container
    return None
