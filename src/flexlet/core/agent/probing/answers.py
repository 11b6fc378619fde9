"""What an answer means: thresholds, verdicts, and what people are told.

A verdict needs as many equal answers in a row as its threshold says. A run condemned by liveness, and one about
which startup has decided either way, is not asked again. An answer that is neither good nor bad (`unknown`: the
question could not be put) changes nothing. Texts and rules are those of kubelet `prober` in Kubernetes 1.36.3.
"""

import msgspec

from flexlet.api import duration, gotext
from flexlet.api.nodepod.handlers import Probe
from flexlet.core.actions import RecordEvent
from flexlet.core.agent import runs
from flexlet.core.agent.deeds import RunProbe
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing import schedule
from flexlet.core.agent.probing.kinds import (
    FAILURE,
    LIVENESS,
    READINESS,
    STARTUP,
    SUCCESS,
    UNKNOWN,
    key_of,
    probe_of,
)
from flexlet.core.agent.record import PodRecord, ProbeState
from flexlet.core.resize import events
from flexlet.core.runtime.shown import ExecResult
from flexlet.errors import RuntimeFault

UNHEALTHY = "Unhealthy"
PROBE_WARNING = "ProbeWarning"
TRIES = 3
"""How often a question is put before its answer is `unknown`."""
_MAX_OUTPUT = 10 * 1024


def answered(
    record: PodRecord, deed: RunProbe, answer: Answer, now: float
) -> tuple[PodRecord, tuple[RecordEvent, ...]]:
    """Take an answer into the record; also what to tell about it. Answers about the past are dropped."""
    container, run = runs.named(record.pod, deed.container), runs.present(record, deed.container)
    probe = None if container is None else probe_of(container, deed.kind)
    if probe is None or run is None or run.id != deed.container_id:
        return record, ()
    if deed.kind != READINESS and schedule.is_stopping(record):
        return record, ()
    key = key_of(deed.kind, deed.container)
    known = record.probes.get(key)
    before = known if known is not None and known.container_id == run.id else ProbeState(container_id=run.id)
    asked_at = record.underway.get(deed.key, now)
    after = msgspec.structs.replace(
        _counted(before, probe, deed.kind, answer.result), next_at=max(now, asked_at + schedule.period(probe))
    )
    return msgspec.structs.replace(record, probes={**record.probes, key: after}), _told(record, deed, answer)


def exec_answer(result: ExecResult | RuntimeFault, command: tuple[str, ...], timeout_s: int) -> Answer:
    """What a command run as a probe says."""
    if isinstance(result, ExecResult):
        output = (result.stdout + result.stderr)[:_MAX_OUTPUT].decode(errors="replace")
        return Answer(result=SUCCESS if result.exit_code == 0 else FAILURE, output=output)
    if result.code == "DeadlineExceeded":
        within = duration.text(timeout_s * 10**9)
        text = f"command timed out: {gotext.quote(' '.join(command))} timed out after {within}"
        return Answer(result=FAILURE, output=text)
    return Answer(result=UNKNOWN, output=f"rpc error: code = {result.code} desc = {result.detail}")


def _counted(before: ProbeState, probe: Probe, kind: str, answer: str) -> ProbeState:
    if answer == UNKNOWN:
        return before
    result = FAILURE if answer == FAILURE else SUCCESS
    streak = before.streak + 1 if before.last_answer == result else 1
    needed = probe.failure_threshold if result == FAILURE else probe.success_threshold
    if streak < needed:
        return msgspec.structs.replace(before, last_answer=result, streak=streak)
    is_final = kind == STARTUP or (kind == LIVENESS and result == FAILURE)
    return msgspec.structs.replace(
        before, result=result, last_answer=result, streak=0 if is_final else streak, on_hold=is_final
    )


def _told(record: PodRecord, deed: RunProbe, answer: Answer) -> tuple[RecordEvent, ...]:
    kind = deed.kind.capitalize()
    match answer.result:
        case "failure":
            reason, text = UNHEALTHY, f"{kind} probe failed: {answer.output}"
        case "unknown":
            reason, text = UNHEALTHY, f"{kind} probe errored and resulted in unknown state: {answer.output}"
        case "warning":
            reason, text = PROBE_WARNING, f"{kind} probe warning: {answer.output}"
        case _:
            return ()
    place = runs.field_path(record.pod, deed.container)
    return (events.about(record.pod, events.WARNING, reason, text, fieldPath=place),)
