"""How one run of a container reads in the API: running, terminated or waiting.

Times are cut to seconds. A termination message is the runtime's own followed by what the container left behind,
and all containers of a pod share 12 KiB of it.
"""

from functools import lru_cache
from typing import Any, Final

from flexlet.api import age
from flexlet.core.agent.containers import names
from flexlet.core.runtime.shown import EXITED, RUNNING, Container

State = dict[str, Any]

RUNS: Final = "running"
ENDED: Final = "terminated"
WAITS: Final = "waiting"

STATUS_UNKNOWN: Final = "ContainerStatusUnknown"
_LOST: Final = 137
_MESSAGES_OF_A_POD: Final = 12 * 1024


def state(run: Container, container_id: str, left_message: str, room: int) -> State:
    """The state of a run; one that is neither running nor over waits without a reason."""
    if run.state == RUNNING:
        return {RUNS: {"startedAt": moment(run.started_at)}}
    if run.state != EXITED:
        return waiting()
    ended: State = {
        "exitCode": run.exit_code,
        "reason": run.reason,
        "message": _message(run.message, left_message, room),
        "startedAt": moment(run.started_at),
        "finishedAt": moment(run.finished_at),
        "containerID": container_id,
    }
    return {ENDED: {key: value for key, value in ended.items() if value != ""}}


def waiting(reason: str = "", message: str = "") -> State:
    """Not running yet, or not running again yet."""
    texts = {"reason": reason, "message": message}
    return {WAITS: {key: value for key, value in texts.items() if value}}


def lost(message: str) -> State:
    """It ran, and nobody saw how it ended."""
    return {ENDED: {"exitCode": _LOST, "reason": STATUS_UNKNOWN, "message": message}}


@lru_cache(maxsize=1024)
def moment(nanoseconds: int) -> str:
    """A time of the runtime's; the same ones are written again with every report."""
    return age.format_seconds(nanoseconds // 10**9)


def restart_count(run: Container) -> int:
    """How often the container had been restarted when this run was made."""
    text = run.annotations.get(names.RESTART_COUNT, "")
    return int(text) if text.isdecimal() else 0


def message_room(containers: int) -> int:
    """Bytes of termination message for each container."""
    return _MESSAGES_OF_A_POD // max(1, containers)


def _message(own: str, left: str, room: int) -> str:
    text = f"{own}: {left}" if own and left else own or left
    # Measured in bytes; four of them are the most a character takes.
    if len(text) * 4 <= room:
        return text
    return text.encode()[:room].decode(errors="ignore")
