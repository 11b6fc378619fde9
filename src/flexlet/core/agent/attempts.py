"""Which attempt of a container comes next, and how long it has to wait after a crash.

The count of restarts is read from the newest run, so it survives the agent. The delays before the first, second,
... restart are 0, 10, 20, 40 ... seconds up to a longest one, counted from the end of the last run. They are about
one definition of the container: another image or other resources start anew, and so does a run that lasted.
"""

import zlib
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent.containers import names
from flexlet.core.agent.delays import CRASH_S, FORGOTTEN_AFTER_S, doubled
from flexlet.core.agent.record import Backoff, PodRecord
from flexlet.core.runtime.shown import EXITED, Container

_NANO: Final = 1e9


def following(record: PodRecord, name: str) -> int:
    """The number of the next attempt; if the runtime has lost all runs, the API's count goes on."""
    newest = record.shown.newest(name) if record.shown is not None else None
    if newest is None:
        known = (each for each in record.api_pod.status.container_statuses if each.name == name)
        return next((each.restart_count + 1 for each in known if _has_run(each)), 0)
    count = newest.annotations.get(names.RESTART_COUNT, "")
    return (int(count) if count.isdecimal() else newest.attempt) + 1


def _has_run(status: NodeContainerStatus) -> bool:
    """One that was made and never started has an id, too."""
    return bool(status.container_id) and ("waiting" not in status.state or bool(status.last_state))


def last_end(record: PodRecord, name: str) -> Container | None:
    """The newest run that ended."""
    runs = record.shown.runs(name) if record.shown is not None else ()
    return next((run for run in runs if run.state == EXITED), None)


def held_until(record: PodRecord, container: NodeContainer) -> tuple[Backoff, float] | None:
    """The delay that the next start has, and when it is over; None if there is none.

    `container` is as allocated. A run that the agent stopped itself to start it again has not crashed: what counts
    is how long it ran, since its start was decided.
    """
    last, known = last_end(record, container.name), _known(record, container)
    if last is None or known is None or known.attempt == following(record, container.name):
        return None
    if _is_forgotten(known, last):
        return None
    return known, (known.ends_at if last.id in record.replaced else last.finished_at / _NANO + known.delay_s)


def decided(record: PodRecord, container: NodeContainer, longest_s: float, now: float) -> Backoff | None:
    """The delay that the start after this one will have; None if this is not the second one at least."""
    last, known = last_end(record, container.name), _known(record, container)
    attempt = following(record, container.name)
    if last is None or (known is not None and known.attempt == attempt):
        return known
    if last.id in record.replaced and attempt == 1:
        return known
    before = None if known is None or _is_forgotten(known, last) else known
    after = doubled(before, CRASH_S, longest_s, now)
    return msgspec.structs.replace(after, identity=_identity(container), attempt=attempt)


def _known(record: PodRecord, container: NodeContainer) -> Backoff | None:
    known = record.crashes.get(container.name)
    return known if known is not None and known.identity == _identity(container) else None


def _is_forgotten(known: Backoff, last: Container) -> bool:
    return last.finished_at / _NANO - known.since > FORGOTTEN_AFTER_S


def _identity(container: NodeContainer) -> int:
    return zlib.crc32(decode.to_json((container.image, container.resources)))
