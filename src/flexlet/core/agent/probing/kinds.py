"""The three kinds of probes, and which of them a container has."""

from typing import Final

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.handlers import Probe

STARTUP: Final = "startup"
READINESS: Final = "readiness"
LIVENESS: Final = "liveness"
KINDS: Final = (STARTUP, READINESS, LIVENESS)

SUCCESS: Final = "success"
WARNING: Final = "warning"
FAILURE: Final = "failure"
UNKNOWN: Final = "unknown"


def probe_of(container: NodeContainer, kind: str) -> Probe | None:
    """The container's probe of a kind."""
    if kind == STARTUP:
        return container.startup_probe
    return container.readiness_probe if kind == READINESS else container.liveness_probe


def key_of(kind: str, container: str) -> str:
    """Under what name a record keeps the state of a probe."""
    return f"{kind}/{container}"
