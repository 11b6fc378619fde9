"""What an operator reads in the agent's log: one line for each change that matters, none for a round without one.

`lines` compares the world before and after a round of the loop. A line says what changed and then, as
``key=value``, whose it is; values with blanks are quoted. What an agent finds when it starts is no change:
containers that were running before are not told as started.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.api import gotext
from flexlet.core.agent import resizelines
from flexlet.core.agent.record import ADMITTED, REJECTED, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.runtime.shown import EXITED, RUNNING, Container, RuntimePod

_RUNNING: Final = "Running"
_EVICTED: Final = "Evicted"


def line(what: str, **fields: object) -> str:
    """One line of the log."""
    return " ".join((what, *(f"{key}={_shown(value)}" for key, value in fields.items())))


def lines(before: World, after: World) -> Iterator[str]:
    """What a round changed."""
    yield from _node(before, after)
    if after.pods is before.pods:
        return
    for uid, record in after.pods.items():
        known = before.pods.get(uid)
        if known is not record:
            yield from _pod(known, record)
    for uid, known in before.pods.items():
        if uid not in after.pods and not known.stopped and known.admission != REJECTED:
            yield _terminated(known)


def of_pod(record: PodRecord) -> dict[str, str]:
    """The fields that say whose a line is."""
    meta = record.pod.metadata
    return {"pod": f"{meta.namespace}/{meta.name}", "uid": meta.uid}


def _shown(value: object) -> str:
    text = str(value)
    is_plain = text and not any(each in text for each in ' "=\n\t')
    return text if is_plain else gotext.quote(text)


def _node(before: World, after: World) -> Iterator[str]:
    old, new = before.setup, after.setup
    if old is not new:
        sizes = {
            name: f"{old.allocatable.get(name, 'none')}->{new.allocatable.get(name, 'none')}"
            for name in sorted({*old.allocatable, *new.allocatable})
            if old.allocatable.get(name) != new.allocatable.get(name)
        }
        if sizes:
            yield line("node allocatable changed", **sizes)
        for condition, was, now in (
            ("RuntimeReady", old.runtime_ready, new.runtime_ready),
            ("NetworkReady", old.network_ready, new.network_ready),
        ):
            if was != now:
                yield _condition(condition, now)
    if before.pressures != after.pressures:
        for name in sorted({*before.pressures} ^ {*after.pressures}):
            yield _condition(name, name in after.pressures)


def _condition(name: str, status: bool) -> str:
    return line("node condition changed", condition=name, status=status)


def _pod(known: PodRecord | None, record: PodRecord) -> Iterator[str]:
    yield from _admission(known, record)
    if known is not None:
        yield from _runs(known, record)
        if _phase(known) != _RUNNING and _phase(record) == _RUNNING:
            yield line("pod started", **of_pod(record))
        yield from resizelines.lines(known, record, line)
    if record.ending is not None and (known is None or known.ending is None) and record.admission != REJECTED:
        reason = record.ending.reason or "Preempted"
        what = "pod evicted" if reason == _EVICTED else "pod ended by the node"
        message = record.ending.message or record.ending.disruption
        yield line(what, **of_pod(record), reason=reason, message=message)
    if record.stopped and known is not None and not known.stopped and record.admission != REJECTED:
        yield _terminated(record)


def _admission(known: PodRecord | None, record: PodRecord) -> Iterator[str]:
    if known is not None and known.admission == record.admission:
        return
    # One that has run to its end is admitted the moment it is seen; that is no news.
    if record.admission == ADMITTED and known is not None:
        yield line("pod admitted", **of_pod(record))
    elif record.admission == REJECTED and record.ending is not None:
        yield line("pod rejected", **of_pod(record), reason=record.ending.reason, message=record.ending.message)


def _phase(record: PodRecord) -> str:
    """What the API was told last, be it by this agent or by one before it."""
    told = record.reported or {}
    return str(told.get("phase") or record.api_pod.status.phase)


def _terminated(record: PodRecord) -> str:
    if record.ending is not None:
        reason = record.ending.reason or "Preempted"
    elif record.gone or record.pod.metadata.deletion_timestamp is not None:
        reason = "Deleted"
    else:
        reason = "Completed"
    return line("pod terminated", **of_pod(record), reason=reason)


def _runs(known: PodRecord, record: PodRecord) -> Iterator[str]:
    if known.shown is None or record.shown is None or known.shown is record.shown:
        return
    for run in reversed(record.shown.containers):
        yield from _run(_state(known.shown, run), run, record)


def _state(shown: RuntimePod, run: Container) -> str:
    return next((each.state for each in shown.containers if each.id == run.id), "")


def _run(was: str, run: Container, record: PodRecord) -> Iterator[str]:
    if was == run.state:
        return
    fields = {**of_pod(record), "container": run.name}
    if run.state == RUNNING or (run.state == EXITED and was != RUNNING and run.started_at):
        restarts = {"restarts": run.attempt} if run.attempt else {}
        yield line("container restarted" if restarts else "container started", **fields, **restarts, id=run.id)
    if run.state == EXITED:
        yield line("container exited", **fields, exit_code=run.exit_code, reason=run.reason or "none", id=run.id)
