"""A pod's whole API status from what the agent knows of it.

A terminal phase is told only when nothing of the pod can run any more; until then the status has the old phase
with the conditions of the new one. Terminal phases are final. A rejected pod has a phase and a reason and
nothing else. Addresses are told with the first container, not with the sandbox. Follows `generateAPIPodStatus`
of Kubernetes 1.36.3; resources that the kernel rounded read as they were asked for (`core.resize.readback`).
"""

from typing import Any, cast

from flexlet.api import age
from flexlet.api.nodepod import NodePod
from flexlet.api.pod import ResourceRequirements
from flexlet.core.agent import managing, runs
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import REJECTED, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.status import before, containers, last, phase
from flexlet.core.agent.status.before import TERMINAL, Before, Json
from flexlet.core.agent.status.conditions import conditions
from flexlet.core.resize import readback
from flexlet.core.resize.allocation import applied
from flexlet.core.resize.podcgroup import Kernel
from flexlet.core.resources import qos


def render(record: PodRecord, setup: NodeSetup, now: float) -> dict[str, Any]:
    """The status as JSON; times that did not change are carried over from what was reported last."""
    known = before.known(record)
    allocated = _allocated(record, setup)
    generation = _generation(record, allocated, known)
    status = _identity(record, known, generation, now)
    if record.admission == REJECTED:
        return status | _rejection(record)
    lists = containers.statuses(containers.view(record, setup, known, allocated))
    entries = {entry["name"]: entry for found in lists.values() for entry in found}
    reached = _phase(record, known, entries)
    status["conditions"] = conditions(record, known, entries, reached, generation, now)
    if record.stopped and record.source != FILE:
        last.close(record.pod, lists)
        reached = reached if reached in TERMINAL else phase.FAILED
    status |= _told_phase(record, known, reached)
    status |= lists
    status |= _addresses(record, setup, known)
    return status | readback.pod_fields(allocated, _resources(record, allocated, setup), setup.gates)


def _resources(record: PodRecord, allocated: NodePod, setup: NodeSetup) -> ResourceRequirements:
    """What the pod as a whole has; what it had last once it has ended."""
    previous = record.pod.status.resources
    if record.stopped and previous is not None:
        return previous
    return readback.pod_resources(
        allocated,
        record.actuated,
        record.cgroup,
        previous,
        settings=setup.cgroups,
        kernel=Kernel(driver=setup.driver),
        exclusive_cpus=bool(managing.exclusive(record, setup)),
    )


def _generation(record: PodRecord, allocated: NodePod, known: Before) -> int:
    """Which generation the status speaks of: not of one whose resize is neither granted nor refused yet.

    Who sees the newest generation without a word about its resize takes it for done.
    """
    newest = record.pod.metadata.generation
    leaves = record.stopping_since is not None or record.pod.metadata.deletion_timestamp is not None
    if leaves or record.allocation is None or allocated.spec == record.pod.spec:
        return newest
    pending = record.resize.pending
    is_decided = pending is not None and pending.observed_generation == newest
    return newest if is_decided else known.generation or newest


def _identity(record: PodRecord, known: Before, generation: int, now: float) -> Json:
    status: Json = {
        "qosClass": qos.recorded_qos_class(record.pod),
        "startTime": known.start_time or record.started_at or age.format_seconds(now),
    }
    if generation:
        status["observedGeneration"] = generation
    return status


def _rejection(record: PodRecord) -> Json:
    ending = record.ending
    texts = {} if ending is None else {"reason": ending.reason, "message": ending.message}
    return {"phase": phase.FAILED} | {key: text for key, text in texts.items() if text}


def _allocated(record: PodRecord, setup: NodeSetup) -> NodePod:
    if record.allocation is None:
        return record.pod
    return cast("NodePod", applied(record.pod, record.allocation, setup.gates))


def _phase(record: PodRecord, known: Before, entries: dict[str, Json]) -> str:
    """The phase that the pod has reached, told or not."""
    ending = record.ending
    # One that makes way for others is Failed only in the end; one that is late is at once.
    if ending is not None and ending.failed and (record.stopped or not ending.disruption):
        found = phase.FAILED
    else:
        stopped = record.stopped and record.source != FILE
        found = phase.phase(record.pod, entries, stopped=stopped, initialized=_is_initialized(record))
    for final in (record.pod.status.phase, known.phase):
        if final in TERMINAL:
            return final
    return found


def _told_phase(record: PodRecord, known: Before, reached: str) -> Json:
    old = known.phase or phase.PENDING
    told = old if reached in TERMINAL and not record.stopped else reached
    if told == old:
        texts = {"reason": known.reason, "message": known.message}
    elif record.ending is not None and record.ending.failed:
        texts = {"reason": record.ending.reason, "message": record.ending.message}
    else:
        texts = {}
    return {"phase": told} | {key: text for key, text in texts.items() if text}


def _is_initialized(record: PodRecord) -> bool:
    """Whether a regular container exists in the present sandbox."""
    present = runs.sandbox(record)
    if record.shown is None or present is None:
        return False
    names = {each.name for each in record.pod.spec.containers}
    return any(each.sandbox_id == present.id and each.name in names for each in record.shown.containers)


def _addresses(record: PodRecord, setup: NodeSetup, known: Before) -> Json:
    status: Json = {}
    host = setup.ips[:2]
    if host:
        status |= {"hostIP": host[0], "hostIPs": [{"ip": ip} for ip in host]}
    own = host if record.pod.spec.host_network else _pod_ips(record, setup, known)
    if own:
        status |= {"podIP": own[0], "podIPs": [{"ip": ip} for ip in own]}
    return status


def _pod_ips(record: PodRecord, setup: NodeSetup, known: Before) -> tuple[str, ...]:
    if not (known.pod_ip or record.troubles or _has_containers(record)):
        return ()
    if len(record.ips) < 2:
        return record.ips
    # One of each family, that of the node first.
    prefers_six = bool(setup.ips) and ":" in setup.ips[0]
    families = [[ip for ip in record.ips if (":" in ip) == six] for six in (prefers_six, not prefers_six)]
    return tuple(ips[0] for ips in families if ips)


def _has_containers(record: PodRecord) -> bool:
    shown = record.shown
    return shown is not None and any(runs.seen(record, each.name) for each in shown.containers)
