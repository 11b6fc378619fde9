"""Whether a pod may run here: the kubelet's questions, in its order and its words."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod

from flexlet.api import decode
from flexlet.api.meta import ObjectMeta
from flexlet.api.node import Node, NodeSpec, Taint
from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.pod import Named
from flexlet.api.nodepod.security import PodSecurityContext
from flexlet.api.pod import ContainerPort, ResourceRequirements, Toleration
from flexlet.api.quantity import Quantity
from flexlet.api.units import PodUid
from flexlet.core.agent import admission
from flexlet.core.agent.admission import Admitted, Later, Rejected, Verdict
from flexlet.core.agent.record import ADMITTED, REJECTED, Ending, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import of_spec
from flexlet.core.resize.verdict import Preempting

NODE = {"cpu": "2", "memory": "4Gi", "pods": "3", "ephemeral-storage": "1Gi"}
HERE = replace(SETUP, allocatable={name: Quantity.parse(amount) for name, amount in NODE.items()})
CRITICAL: dict[str, Any] = {"priority": 2_000_000_000, "priority_class_name": "system-node-critical"}
SMALL = container("c", "100m,64Mi")
PORT = ContainerPort(container_port=80, host_port=8080)


def named(name: str, of: NodePod, **meta: Any) -> NodePod:
    return replace(of, metadata=replace(of.metadata, name=name, uid=f"uid-{name}", **meta))


def there(name: str, of: NodePod) -> PodRecord:
    """One who was let in before."""
    return PodRecord(pod=named(name, of), admission=ADMITTED, allocation=of_spec(of))


def asked(of: NodePod, *others: PodRecord, node: Node | None = None, **more: Any) -> Verdict:
    record = PodRecord(pod=of, **{key: more.pop(key) for key in ("source", "unsupported") if key in more})
    setup = replace(HERE, **more.pop("setup", {}))
    pods = {each.uid: each for each in (record, *others)}
    labelled = Node(metadata=ObjectMeta(name="node-a", labels={"kubernetes.io/os": "linux"}))
    return admission.ask(record, World(setup=setup, node=node or labelled, pods=pods, **more))


def failed(check: str, why: str) -> Rejected:
    return Rejected(check, f"Predicate {check} failed: {why}")


def short(name: str, requested: int, used: int, capacity: int) -> Rejected:
    text = f"Node didn't have enough resource: {name}, requested: {requested}, used: {used}, capacity: {capacity}"
    return Rejected(f"OutOf{name}", text)


def shared(**fields: Any) -> PodSecurityContext:
    return decode.from_value(fields, PodSecurityContext)


AFFINITY = failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
PORTS = failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
TAINTED = failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
ELSEWHERE = failed("NodeName", "node(s) didn't match the requested node name")
STRICT = Rejected(
    "SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"
)
LABEL = Rejected(
    "PodOSSelectorNodeLabelDoesNotMatch",
    "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
)
WRONG_OS = Rejected("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
ARMOUR = "Cannot enforce AppArmor: "


def test_a_pod_that_fits_is_admitted_with_its_spec() -> None:
    assert asked(pod(SMALL)) == Admitted(of_spec(pod(SMALL)))


@pytest.mark.parametrize(
    ("given", "more", "expected"),
    [
        (pod(container("c", "3,64Mi")), {}, short("cpu", 3000, 100, 2000)),
        (pod(container("c", "1,8Gi")), {}, short("memory", 8 << 30, 64 << 20, 4 << 30)),
        (pod(container("c", "3,8Gi")), {}, short("cpu", 3000, 100, 2000)),
        (pod(SMALL, node_selector={"disk": "ssd"}), {}, AFFINITY),
        (pod(SMALL, node_name="node-b"), {}, ELSEWHERE),
        (pod(SMALL, os=Named(name="windows")), {}, WRONG_OS),
        (pod(SMALL, meta={"labels": {"kubernetes.io/os": "windows"}}), {}, LABEL),
        (pod(SMALL, security_context=shared(supplementalGroupsPolicy="Strict")), {}, None),
        (
            pod(SMALL, security_context=shared(supplementalGroupsPolicy="Strict")),
            {"setup": {"strict_groups": False}},
            STRICT,
        ),
        (
            pod(SMALL, security_context=shared(sysctls=[{"name": "kernel.msgmax", "value": "1"}])),
            {},
            Rejected("SysctlForbidden", 'forbidden sysctl: "kernel.msgmax" not allowlisted'),
        ),
        (
            pod(SMALL, security_context=shared(sysctls=[{"name": "kernel.msgmax", "value": "1"}])),
            {"setup": {"unsafe_sysctls": ("kernel.msg*",)}},
            None,
        ),
        (pod(SMALL, security_context=shared(appArmorProfile={"type": "RuntimeDefault"})), {}, None),
        (
            pod(SMALL, security_context=shared(appArmorProfile={"type": "RuntimeDefault"})),
            {"setup": {"apparmor": False}},
            Rejected("AppArmor", f"{ARMOUR}AppArmor is not enabled on the host"),
        ),
        (
            pod(SMALL, security_context=shared(appArmorProfile={"type": "Unconfined"})),
            {"setup": {"apparmor": False}},
            None,
        ),
        (
            pod(SMALL, security_context=shared(appArmorProfile={"type": "Localhost"})),
            {},
            Rejected("AppArmor", f"{ARMOUR}invalid empty AppArmor profile name"),
        ),
        (
            pod(SMALL),
            {"shutting_down": True},
            Rejected("NodeShutdown", "Pod was rejected as the node is shutting down."),
        ),
        (
            pod(SMALL),
            {"unsupported": ("x", "y")},
            Rejected("PodFeatureUnsupported", "flexlet does not support x, y"),
        ),
        (
            pod(SMALL),
            {"pressures": ("DiskPressure",)},
            Rejected("Evicted", "The node had condition: [DiskPressure]. "),
        ),
        (pod(SMALL), {"pressures": ("MemoryPressure",)}, None),
    ],
)
def test_every_question_has_its_refusal(given: NodePod, more: dict[str, Any], expected: Rejected | None) -> None:
    verdict = asked(given, there("other", pod(SMALL)), **more)
    assert verdict == (Admitted(of_spec(given)) if expected is None else expected)


def test_pods_count_and_the_first_shortage_is_told() -> None:
    others = [there(f"o{number}", pod(SMALL)) for number in range(3)]
    assert asked(pod(container("c", "3,64Mi")), *others) == short("pods", 1, 3, 3)


def test_resources_that_nobody_advertises_here_are_not_asked_for() -> None:
    """Some are the cluster's, others are known to the scheduler only."""
    amounts = {"cpu": Quantity.parse("100m"), "example.com/gpu": Quantity.parse("1")}
    given = pod(replace(SMALL, resources=ResourceRequirements(requests=amounts)))
    assert asked(given) == Admitted(of_spec(given))
    known = {**HERE.allocatable, "example.com/gpu": Quantity.parse("0")}
    assert asked(given, setup={"allocatable": known}) == short("example.com/gpu", 1, 0, 0)


@pytest.mark.parametrize(
    ("own", "taken"),
    [
        (PORT, True),
        (replace(PORT, host_ip="10.0.0.1"), True),
        (replace(PORT, protocol="UDP"), False),
        (replace(PORT, host_port=8081), False),
        (replace(PORT, host_port=0), False),
    ],
)
def test_host_ports_are_held_by_those_who_were_let_in(own: ContainerPort, *, taken: bool) -> None:
    given, holder = pod(replace(SMALL, ports=(own,))), there("other", pod(replace(SMALL, ports=(PORT,))))
    assert asked(given, holder) == (PORTS if taken else Admitted(of_spec(given)))
    refused = replace(holder, admission=REJECTED)
    assert asked(given, refused) == Admitted(of_spec(given))


@pytest.mark.parametrize(
    ("effect", "tolerations", "source", "expected"),
    [
        ("NoExecute", (), "api", TAINTED),
        ("NoSchedule", (), "api", None),
        ("NoExecute", (Toleration(operator="Exists"),), "api", None),
        ("NoExecute", (), "file", None),
    ],
)
def test_only_taints_that_evict_keep_a_pod_away_and_static_ones_stay(
    effect: str, tolerations: tuple[Toleration, ...], source: str, expected: Rejected | None
) -> None:
    tainted = Node(metadata=ObjectMeta(name="node-a"), spec=NodeSpec(taints=(Taint(key="k", effect=effect),)))
    given = pod(SMALL, tolerations=tolerations)
    verdict = asked(given, node=tainted, source=source)
    assert verdict == (Admitted(of_spec(given)) if expected is None else expected)


def test_critical_pods_are_held_by_taints_like_others() -> None:
    tainted = Node(metadata=ObjectMeta(name="node-a"), spec=NodeSpec(taints=(Taint(key="k", effect="NoExecute"),)))
    assert asked(pod(SMALL, **CRITICAL), node=tainted) == TAINTED


def test_others_make_way_for_a_critical_pod_unless_it_could_not_stay_anyhow() -> None:
    big = container("c", "1500m,64Mi")
    victim, spared = there("victim", pod(big)), there("spared", pod(SMALL, **CRITICAL))
    assert asked(pod(big, **CRITICAL), victim, spared) == Preempting((PodUid("uid-victim"),))
    lost = pod(big, node_selector={"disk": "ssd"}, **CRITICAL)
    assert asked(lost, victim, spared) == AFFINITY
    assert asked(pod(big), victim, spared) == short("cpu", 1500, 1600, 2000)


def test_a_critical_pod_for_which_nobody_can_make_way_says_what_is_missing() -> None:
    big = container("c", "1500m,64Mi")
    verdict = asked(pod(big, **CRITICAL), there("other", pod(big, **CRITICAL)))
    assert verdict == Rejected(
        "UnexpectedAdmissionError",
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of "
        "pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]",
    )


def test_a_pod_that_was_let_in_before_stays() -> None:
    given = pod(container("c", "3,64Mi"))
    before = PodRecord(pod=given, allocation=of_spec(given))
    assert admission.ask(before, World(setup=HERE, pods={before.uid: before})) == Admitted(of_spec(given))


def test_the_oldest_is_asked_first_and_those_decided_or_gone_are_not_asked() -> None:
    times = {"late": "2026-01-02T00:00:00Z", "early": "2026-01-01T00:00:00Z", "also": "2026-01-01T00:00:00Z"}
    waiting = [PodRecord(pod=named(name, pod(SMALL), creation_timestamp=at)) for name, at in times.items()]
    others = [
        there("in", pod(SMALL)),
        PodRecord(pod=named("gone", pod(SMALL)), gone=True),
        PodRecord(pod=named("granted", pod(SMALL)), granted=of_spec(pod(SMALL))),
    ]
    world = World(setup=HERE, pods={each.uid: each for each in (*waiting, *others)})
    assert [each.pod.metadata.name for each in admission.undecided(world)] == ["also", "early", "late"]


BALLOON: dict[str, Any] = {"namespace": "kube-system", "labels": {"flexlet.io/balloon": "true"}}


def balloon(size: str, **spec: Any) -> NodePod:
    return named("balloon", pod(container("balloon", size, size), **spec), **BALLOON)


def test_balloons_come_last_and_who_was_here_before_comes_first() -> None:
    """Otherwise a newcomer would get what somebody holds who is asked after it."""
    old, young = ({"creation_timestamp": f"2026-01-0{day}T00:00:00Z"} for day in (1, 2))
    held = of_spec(pod(SMALL))
    waiting = [
        PodRecord(pod=named("new-balloon", pod(SMALL), **BALLOON, **old)),
        PodRecord(pod=named("new", pod(SMALL), **young)),
        PodRecord(pod=named("balloon", pod(SMALL), **BALLOON, **old), allocation=held),
        PodRecord(pod=named("here", pod(SMALL), **young), allocation=held),
    ]
    world = World(setup=HERE, pods={each.uid: each for each in waiting})
    found = [each.pod.metadata.name for each in admission.undecided(world)]
    assert found == ["here", "balloon", "new", "new-balloon"]


@pytest.mark.parametrize("known", [True, False])
def test_a_balloon_is_let_in_with_what_is_left(known: bool) -> None:
    """2 CPUs and 4Gi, of which 500m and 3Gi are taken: it gets no more, and never less than it must have."""
    given = balloon("1,2Gi", **CRITICAL)
    record = PodRecord(pod=given, allocation=of_spec(given) if known else None)
    for taken, left in (("500m,3Gi", "1,1Gi"), ("1500m,1Gi", "500m,2Gi"), ("100m,4080Mi", "1,16Mi")):
        other = there("other", pod(container("c", taken)))
        world = World(setup=HERE, pods={each.uid: each for each in (record, other)})
        assert admission.ask(record, world) == Admitted(of_spec(balloon(left)))


def test_a_balloon_for_which_there_is_nothing_at_all_is_refused_once_and_else_stays() -> None:
    given, full = balloon("1,2Gi"), there("other", pod(container("c", "500m,4Gi")))
    new, known = PodRecord(pod=given), PodRecord(pod=given, allocation=of_spec(given))
    world = World(setup=HERE, pods={full.uid: full})
    assert admission.ask(new, world) == short("memory", 16 << 20, 4 << 30, 4 << 30)
    assert admission.ask(known, world) == Admitted(of_spec(balloon("1,16Mi")))


def test_a_balloon_is_let_in_under_pressure() -> None:
    """It uses nothing, and without it others would be let in."""
    given = balloon("1,1Gi")
    assert asked(given, pressures=("DiskPressure",)) == Admitted(of_spec(given))


def test_a_balloon_does_not_make_way_for_a_critical_pod() -> None:
    """Scenario 20: 500m and nothing free; who is not a balloon pays, and if nobody can, it is refused."""
    critical = pod(container("c", "500m,64Mi"), **CRITICAL)
    held, web = there("balloon", balloon("1500m,1Gi")), there("web", pod(container("c", "500m,64Mi")))
    held = replace(held, pod=balloon("1500m,1Gi"))
    assert asked(critical, held, web) == Preempting((PodUid("uid-web"),))
    larger = there("balloon", balloon("2,1Gi"))
    larger = replace(larger, pod=balloon("2,1Gi"))
    assert isinstance(asked(critical, larger), Rejected)


def test_pod_level_resources_need_their_gate() -> None:
    given = pod(SMALL, resources=ResourceRequirements(requests={"cpu": Quantity.parse("1")}))
    off = Gates({**HERE.gates.enabled, "PodLevelResources": False})
    assert asked(given, setup={"gates": off}) == Rejected(
        "PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled"
    )
    assert asked(given) == Admitted(of_spec(given))


@pytest.mark.parametrize("leaving", [{"gone": True}, {"ending": Ending()}])
def test_a_pod_waits_for_room_that_only_leaving_pods_hold(leaving: dict[str, Any]) -> None:
    """The scheduler has stopped counting a pod that was deleted without grace; its containers still run."""
    big = pod(container("c", "1500m,64Mi"))
    old = there("old", big)
    assert asked(big, old) == short("cpu", 1500, 1500, 2000)
    assert asked(big, replace(old, **leaving)) == Later()
    assert asked(big, replace(old, **leaving), there("other", pod(container("c", "600m,64Mi")))) == short(
        "cpu", 1500, 2100, 2000
    )
    assert isinstance(asked(pod(SMALL), replace(old, **leaving)), Admitted)


def test_a_port_that_only_a_leaving_pod_holds_is_waited_for() -> None:
    wants = pod(replace(SMALL, ports=(PORT,)))
    old = there("old", wants)
    assert asked(wants, old) == failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    assert asked(wants, replace(old, gone=True)) == Later()
