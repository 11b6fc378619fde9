"""Pods, records and runs for tests about the agent, in a few words each."""

from typing import Any, NamedTuple

from msgspec.structs import replace

from flexlet.api.meta import ObjectMeta
from flexlet.api.nodepod import NodeContainer, NodePod, NodePodSpec, NodePodStatus
from flexlet.api.pod import ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.actions import RecordEvent
from flexlet.core.agent import status
from flexlet.core.agent.containers import names
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.cgroups import pods
from flexlet.core.cgroups.settings import Host
from flexlet.core.resize import podcgroup, targets
from flexlet.core.resize.allocation import Allocation, of_spec
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resources.qos import qos_class
from flexlet.core.runtime.shown import EXITED, RUNNING, Container, RuntimePod, Sandbox

NOW = 1_000_000.0
STARTED_AT = "1970-01-12T13:46:40Z"
UID = "uid-1"
SETUP = NodeSetup(
    name="node-a",
    ips=("10.0.0.1",),
    host=Host(memory=Bytes(8 << 30)),
    allocatable={"cpu": Quantity.parse("4"), "memory": Quantity.parse("8Gi")},
    cluster_dns=("10.96.0.10",),
    network_message="container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized",
)


def container(name: str, requests: str = "", limits: str = "", **more: Any) -> NodeContainer:
    """A container; amounts are ``cpu,memory``."""
    given = ResourceRequirements(requests=_amounts(requests), limits=_amounts(limits))
    return NodeContainer(name=name, image="busybox:1", resources=given, **more)


def sidecar(name: str, **more: Any) -> NodeContainer:
    """For `init`."""
    return container(name, restart_policy="Always", **more)


def pod(
    *containers: NodeContainer,
    init: tuple[NodeContainer, ...] = (),
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> NodePod:
    """A pod named p; `meta` and `spec` are further fields."""
    given = NodePodSpec(containers=containers, init_containers=init, **spec)
    known = ObjectMeta(name="p", namespace="ns", uid=UID, generation=1, **(meta or {}))
    bare = NodePod(metadata=known, spec=given)
    return replace(bare, status=NodePodStatus(phase="Pending", qos_class=qos_class(bare)))


def deleted(before: NodePod, grace_s: int = 30) -> NodePod:
    """The pod after a client has asked for its end."""
    meta = replace(
        before.metadata,
        deletion_timestamp="1970-01-12T13:47:10Z",
        deletion_grace_period_seconds=grace_s,
        generation=before.metadata.generation + 1,
    )
    return replace(before, metadata=meta)


def record(of: NodePod, shown: RuntimePod | None = None, **more: Any) -> PodRecord:
    """An admitted pod; by default nothing of it is there yet, and the API was told what it is told first."""
    known: dict[str, Any] = {
        "admission": ADMITTED,
        "allocation": of_spec(of),
        "started_at": "1970-01-12T13:46:40Z",
    }
    return PodRecord(pod=of, shown=shown, **{**known, **more})


def sandbox(attempt: int = 0, **more: Any) -> Sandbox:
    """A sandbox that is ready and has an address."""
    known: dict[str, Any] = {"id": f"s{attempt}", "uid": UID, "ips": ("10.1.0.1",), "has_network_status": True}
    return Sandbox(attempt=attempt, **{**known, **more})


def run(of: NodeContainer, attempt: int = 0, state: str = RUNNING, **more: Any) -> Container:
    """One run of a container, made when `NOW` was."""
    known: dict[str, Any] = {
        "id": f"{of.name}#{attempt}",
        "sandbox_id": "s0",
        "image": "docker.io/library/busybox:1",
        "created_at": int(NOW * 1e9),
        "started_at": int(NOW * 1e9),
        "finished_at": int(NOW * 1e9) if state == EXITED else 0,
        "annotations": {names.HASH: names.container_hash(of), names.RESTART_COUNT: str(attempt)},
    }
    return Container(name=of.name, attempt=attempt, state=state, **{**known, **more})


def runtime(*containers: Container, sandboxes: tuple[Sandbox, ...] | None = None) -> RuntimePod:
    """What the runtime has: these runs, newest first, in one good sandbox unless told otherwise."""
    return RuntimePod(UID, (sandbox(),) if sandboxes is None else sandboxes, containers)


def _amounts(text: str) -> dict[str, Quantity]:
    pairs = zip(("cpu", "memory"), text.split(","), strict=False)
    return {name: Quantity.parse(value) for name, value in pairs if value}


def started(of: NodePod) -> Allocation:
    """What is recorded once the pod's cgroup and all its containers were made."""
    actuated = targets.cgroup_created(None, of)
    for each in (*of.spec.init_containers, *of.spec.containers):
        actuated = targets.created(actuated, of, each)
    return actuated


def living(of: NodePod, *runs: Container, sandboxes: tuple[Sandbox, ...] | None = None, **more: Any) -> PodRecord:
    """A pod that has what it stands on; the API was told how it is."""
    fresh = PodCgroup(weight=100, quota=-1, memory_max=-1)
    known: dict[str, Any] = {
        "has_cgroup": True,
        "has_values": True,
        "volumes": True,
        "refresh_volumes_at": NOW + 60,
        "cgroup": podcgroup.written(fresh, pods.pod_cgroup(of)),
        "actuated": started(of),
        "ips": ("10.1.0.1",),
    }
    return told(record(of, runtime(*runs, sandboxes=sandboxes), **{**known, **more}))


def told(of: PodRecord, now: float = NOW) -> PodRecord:
    """The record of a pod whose status the API has."""
    return replace(of, reported=status.render(of, SETUP, now))


class Answer(NamedTuple):
    """What was decided, without the record."""

    deeds: tuple[PodDeed, ...] = ()
    events: tuple[tuple[str, str, str, str], ...] = ()
    wake_at: float | None = None


def decided(of: PodRecord, now: float = NOW, setup: NodeSetup = SETUP) -> Answer:
    """The decision about a record; every deed must be under way in it, and asking again must bring nothing."""
    decision = decide(of, setup, now)
    begun = {deed.key: now for deed in decision.deeds}
    assert decision.record.underway == of.underway | begun
    again = decide(decision.record, setup, now)
    assert (again.deeds, again.events) == ((), ()), "asked twice, decided twice"
    return Answer(decision.deeds, tuple(map(event, decision.events)), decision.wake_at)


def event(of: RecordEvent) -> tuple[str, str, str, str]:
    """An event as a row: type, reason, message, and which container it is about."""
    assert (of.component, of.about["uid"], of.about["name"]) == ("kubelet", UID, "p")
    return (of.type, of.reason, of.message, of.about.get("fieldPath", ""))
