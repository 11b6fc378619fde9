"""What an answer means: thresholds, results, and what people are told."""

from flexlet.core.actions import RecordEvent
from flexlet.core.agent.deeds import RunProbe
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.record import PodRecord
from flexlet.core.runtime.shown import ExecResult
from flexlet.errors import RuntimeFault


def answered(
    record: PodRecord, deed: RunProbe, answer: Answer, now: float
) -> tuple[PodRecord, tuple[RecordEvent, ...]]:
    """Take an answer into the record; also what to tell about it."""
    del deed, answer, now
    return record, ()


def exec_answer(result: ExecResult | RuntimeFault, command: tuple[str, ...], timeout_s: int) -> Answer:
    """What a command run as a probe says."""
    del command, timeout_s
    good = isinstance(result, ExecResult) and result.exit_code == 0
    return Answer(result="success" if good else "failure")
