"""What is known of a container's health: alive, started, ready.

Before the first verdict a run is alive, not started (if it has a startup probe) and not ready (if it has a
readiness probe). A run that is more than ten seconds older than the agent keeps what the API says of it until it
was probed, so that restarting the agent takes nobody out of service. Follows kubelet `prober_manager` of
Kubernetes 1.36.3.
"""

from typing import Final

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent import runs
from flexlet.core.agent.probing.kinds import FAILURE, LIVENESS, READINESS, STARTUP, SUCCESS, key_of
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.shown import EXITED, Container

_RESTART_GRACE_S: Final = 10


def is_alive(record: PodRecord, setup: NodeSetup, container: str) -> bool:
    """Whether the present run may go on: neither its liveness nor its startup probe has failed."""
    del setup
    return failed_liveness(record, container) is None


def failed_liveness(record: PodRecord, container: str) -> str | None:
    """The probe that condemned the present run, ``startup`` or ``liveness``; None if none did."""
    if not record.probes:
        return None
    run = runs.present(record, container)
    if run is None:
        return None
    failed = (kind for kind in (STARTUP, LIVENESS) if verdict(record, kind, container, run.id) == FAILURE)
    return next(failed, None)


def has_started(record: PodRecord, setup: NodeSetup, container: str) -> bool:
    """Whether the present run is up: it runs, its postStart hook is done, and its startup probe has succeeded."""
    run, spec = runs.present(record, container), runs.named(record.pod, container)
    return run is not None and spec is not None and started(record, setup, spec, run)


def is_ready(record: PodRecord, setup: NodeSetup, container: str) -> bool:
    """Whether the present run can be sent work; of an init container that is no sidecar, whether it is done."""
    spec = runs.named(record.pod, container)
    if spec is None:
        return False
    if spec in record.pod.spec.init_containers and not spec.is_sidecar:
        past = runs.seen(record, container)
        return bool(past) and past[0].state == EXITED and past[0].exit_code == 0
    run = runs.present(record, container)
    return run is not None and ready(record, setup, spec, run)


def started(record: PodRecord, setup: NodeSetup, container: NodeContainer, run: Container) -> bool:
    """Whether this run of the container, which runs, is up."""
    if container.startup_probe is None:
        return True
    result = verdict(record, STARTUP, container.name, run.id)
    if result:
        return result == SUCCESS
    told = _told(record, setup, run)
    return told is not None and told.started is True


def ready(record: PodRecord, setup: NodeSetup, container: NodeContainer, run: Container) -> bool:
    """Whether this run of the container, which runs, can be sent work."""
    if not started(record, setup, container, run):
        return False
    if container.readiness_probe is None:
        return True
    result = verdict(record, READINESS, container.name, run.id)
    if result:
        return result == SUCCESS
    told = _told(record, setup, run)
    return told is not None and told.ready


def verdict(record: PodRecord, kind: str, container: str, container_id: str) -> str:
    """``success`` or ``failure`` for a run, empty while its probe is undecided."""
    state = record.probes.get(key_of(kind, container))
    return state.result if state is not None and state.container_id == container_id else ""


def _told(record: PodRecord, setup: NodeSetup, run: Container) -> NodeContainerStatus | None:
    """What the API says of a run that an earlier agent left behind."""
    if run.started_at >= (setup.started_at - _RESTART_GRACE_S) * 1e9:
        return None
    known = f"{setup.runtime_name}://{run.id}"
    status = record.pod.status
    for statuses in (status.container_statuses, status.init_container_statuses):
        for each in statuses:
            if each.container_id == known:
                return each
    return None
