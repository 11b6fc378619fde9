"""What a pod's sandboxes and the runs of its containers tell: rules that deciding, probing and reporting share.

A run that is just being started is *unseen*: its postStart hook may still undo it, so until StartContainer ends
nobody is told of it and nothing is asked of it; if the hook failed, until the run has ended. Follows Kubernetes
1.36.3 (kubelet `container/helpers`, `kuberuntime/util`).
"""

from collections.abc import Iterator
from typing import Final

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.container import RestartRule
from flexlet.core.agent import doubts
from flexlet.core.agent.record import PodRecord
from flexlet.core.runtime import configs
from flexlet.core.runtime.shown import EXITED, READY, RUNNING, UNKNOWN, Container, Sandbox

RESTART: Final = "Restart"
RESTARTING_POLICIES: Final = ("Always", "OnFailure", "Never")


def probed(pod: NodePod) -> Iterator[NodeContainer]:
    """The containers that are kept running, sidecars first: those that have probes and readiness."""
    for container in pod.spec.init_containers:
        if container.is_sidecar:
            yield container
    yield from pod.spec.containers


def named(pod: NodePod, name: str) -> NodeContainer | None:
    """A container of any kind."""
    spec = pod.spec
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers:
            if container.name == name:
                return container
    return None


def field_path(pod: NodePod, name: str) -> str:
    """Where a container stands in its pod, as events say it."""
    spec = pod.spec
    if any(container.name == name for container in spec.init_containers):
        return f"spec.initContainers{{{name}}}"
    if any(container.name == name for container in spec.ephemeral_containers):
        return f"spec.ephemeralContainers{{{name}}}"
    return f"spec.containers{{{name}}}"


def seen(record: PodRecord, name: str) -> tuple[Container, ...]:
    """The runs of a container that may be told of, newest first."""
    shown = record.shown
    if shown is None:
        return ()
    runs = shown.runs(name)
    if not runs:
        return runs
    newest = runs[0]
    since = record.underway.get(f"container/{name}")
    if since is None:
        is_unseen = newest.id in record.doomed and newest.state != EXITED
    else:
        is_unseen = newest.state != EXITED or newest.created_at >= since * 1e9
    return runs[1:] if is_unseen else runs


def present(record: PodRecord, name: str) -> Container | None:
    """The newest run if it runs now and may be told of."""
    runs = seen(record, name)
    return runs[0] if runs and runs[0].state == RUNNING else None


def restarts(pod: NodePod, container: NodeContainer, exit_code: int) -> bool:
    """Whether a container that ended so is started again; deletion is the caller's to think of."""
    if container.restart_policy is not None:
        rule = _rule(container, exit_code)
        if rule is not None and rule.action == RESTART:
            return True
    policy = container.restart_policy
    if policy not in RESTARTING_POLICIES:
        policy = pod.spec.restart_policy
    return exit_code != 0 if policy == "OnFailure" else policy != "Never"


def starts(pod: NodePod, container: NodeContainer, newest: Container | None) -> bool:
    """Whether the next step for a container is to start it (again)."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    if newest is None or newest.state == UNKNOWN:
        return True
    if newest.state == EXITED:
        return restarts(pod, container, newest.exit_code)
    return newest.state != RUNNING


def needs_sandbox(record: PodRecord) -> bool:
    """Whether a new sandbox must be made before containers can start."""
    newest = sandbox(record)
    sandboxes = record.shown.sandboxes if record.shown is not None else ()
    if newest is None or any(each.state == READY for each in sandboxes[1:]):
        return True
    return newest.network != _network(record.pod) or _lacks_address(record.pod, newest)


def sandbox(record: PodRecord) -> Sandbox | None:
    """The newest sandbox if containers can run in it."""
    newest = record.shown.sandboxes[0] if record.shown is not None and record.shown.sandboxes else None
    if newest is None or (newest.state != READY and not doubts.keeps(record, newest)):
        return None
    return newest


def _rule(container: NodeContainer, exit_code: int) -> RestartRule | None:
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is not None and (exit_code in codes.values) == (codes.operator == "In"):
            return rule
    return None


def _network(pod: NodePod) -> str:
    return configs.NODE if pod.spec.host_network else configs.POD


def _lacks_address(pod: NodePod, sandbox: Sandbox) -> bool:
    return not pod.spec.host_network and sandbox.has_network_status and not sandbox.ips
