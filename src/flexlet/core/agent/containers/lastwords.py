"""Where an ended container's last words are: its termination message, or the end of its log."""

from typing import Final

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.containers import names
from flexlet.core.runtime.shown import Container

_FALLBACK: Final = "FallbackToLogsOnError"
_MESSAGE_BYTES: Final = 4096
_ALL_BYTES: Final = 12 * 1024
_LOG_LINES: Final = 80
_LOG_BYTES: Final = 2048


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which file to read, and which log if it is empty."""

    path: str = ""
    limit_bytes: int = _MESSAGE_BYTES
    log_path: str = ""
    log_lines: int = _LOG_LINES
    log_bytes: int = _LOG_BYTES


def wanted(pod: NodePod, run: Container) -> Wanted:
    """What to read for one run; containers share twelve KiB."""
    inside = run.annotations.get(names.MESSAGE_PATH, "")
    path = next((mount.host_path for mount in run.mounts if mount.container_path == inside), "")
    spec = pod.spec
    count = max(1, len(spec.containers) + len(spec.init_containers) + len(spec.ephemeral_containers))
    fallback = run.annotations.get(names.MESSAGE_POLICY) == _FALLBACK and run.exit_code != 0
    return Wanted(
        path=path,
        limit_bytes=min(_MESSAGE_BYTES, _ALL_BYTES // count),
        log_path=run.log_path if fallback else "",
    )
