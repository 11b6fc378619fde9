"""Where an ended container's last words are: its termination message, or the end of its log."""

from typing import Final

import msgspec

from flexlet.core.agent.containers import names
from flexlet.core.runtime.shown import Container

_FALLBACK: Final = "FallbackToLogsOnError"
_NEVER_RAN: Final = "ContainerCannotRun"
_MESSAGE_BYTES: Final = 4096
_LOG_LINES: Final = 80
_LOG_BYTES: Final = 2048


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which file to read, and which log if it is empty."""

    path: str = ""
    limit_bytes: int = _MESSAGE_BYTES
    log_path: str = ""
    log_lines: int = _LOG_LINES
    log_bytes: int = _LOG_BYTES


def wanted(run: Container) -> Wanted:
    """What to read for one run; what all containers of a pod may say together is the status's matter."""
    inside = run.annotations.get(names.MESSAGE_PATH, "")
    inside = inside if inside.startswith("/") else f"/{inside}"
    path = next((mount.host_path for mount in run.mounts if mount.container_path == inside), "")
    asked = run.annotations.get(names.MESSAGE_POLICY) == _FALLBACK
    fallback = asked and run.exit_code != 0 and run.reason != _NEVER_RAN
    return Wanted(path=path, log_path=run.log_path if fallback else "")
