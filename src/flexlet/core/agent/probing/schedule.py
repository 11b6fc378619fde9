"""When each probe of each run is asked.

Startup and liveness are asked on a beat of their period that began when the pod was seen, as the kubelet's workers
do: a container has up to one period before the first question, also without an initial delay. Readiness is asked
at once, so that a container that is ready early is used early. Right after the agent's own start the beats of many
pods would fall together, so they are spread over a period.

A container is asked only while it runs; startup until it has started, the others from then on. A pod that is being
stopped is asked only whether it is still ready.
"""

from math import ceil
from typing import Final
from zlib import crc32

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.handlers import Probe
from flexlet.core.agent import runs
from flexlet.core.agent.deeds import RunProbe
from flexlet.core.agent.probing import health
from flexlet.core.agent.probing.kinds import KINDS, READINESS, STARTUP, key_of, probe_of
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.setup import NodeSetup

_WHILE_STOPPING: Final = (READINESS,)
_ALL_OF_CRC32: Final = 2**32


def due(record: PodRecord, setup: NodeSetup, now: float) -> tuple[tuple[RunProbe, ...], float | None]:
    """The questions to ask now, and when to look again (None: only when something else happens)."""
    if record.admission != ADMITTED or record.stopped or record.gone:
        return (), None
    kinds = _WHILE_STOPPING if is_stopping(record) else KINDS
    asked: list[RunProbe] = []
    wake_at: float | None = None
    for container in runs.probed(record.pod):
        for kind in kinds:
            probe = probe_of(container, kind)
            if probe is None:
                continue
            question, at = _next(record, setup, container, kind, probe)
            if question is None or record.is_underway(question.key):
                continue
            if at <= now:
                asked.append(question)
            elif wake_at is None or at < wake_at:
                wake_at = at
    return tuple(asked), wake_at


def is_stopping(record: PodRecord) -> bool:
    """Whether the pod is on its way out."""
    return (
        record.stopping_since is not None
        or record.ending is not None
        or record.pod.metadata.deletion_timestamp is not None
    )


def period(probe: Probe) -> int:
    """Seconds between questions; a static pod's manifest may say 0."""
    return max(1, probe.period_seconds)


def _next(
    record: PodRecord, setup: NodeSetup, container: NodeContainer, kind: str, probe: Probe
) -> tuple[RunProbe | None, float]:
    """The next question of a probe and when it is to be asked; None if there is none."""
    run = runs.present(record, container.name)
    if run is None or health.started(record, setup, container, run) == (kind == STARTUP):
        return None, 0.0
    question = RunProbe(uid=record.uid, container=container.name, container_id=run.id, kind=kind)
    earliest = run.started_at / 1e9 + probe.initial_delay_seconds
    state = record.probes.get(key_of(kind, container.name))
    if state is None or state.container_id != run.id:
        return question, _first(record, setup, question, period(probe), earliest)
    return (None, 0.0) if state.on_hold else (question, max(state.next_at, earliest))


def _first(record: PodRecord, setup: NodeSetup, question: RunProbe, every: int, earliest: float) -> float:
    is_early = record.seen_at - setup.started_at < every
    if question.kind == READINESS and not is_early:
        return earliest
    beat = record.seen_at + (_share(question) * every if is_early else 0.0)
    return beat + every * max(0, ceil((earliest - beat) / every))


def _share(question: RunProbe) -> float:
    """A number from 0 to 1 that is the same each time: chance without chance."""
    name = f"{question.uid}/{question.kind}/{question.container}"
    return crc32(name.encode()) / _ALL_OF_CRC32
