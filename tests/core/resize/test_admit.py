"""The rules of admission in their order."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.pods import amounts, container, pod, reported

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod, PodStatus, Toleration
from flexlet.api.units import PodUid
from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.resize import neighbours
from flexlet.core.resize.admit import RULES, NodeFacts, Wish, admit
from flexlet.core.resize.allocation import NOTHING, of_spec
from flexlet.core.resize.infeasible import NodeRules
from flexlet.core.resize.neighbours import Neighbour
from flexlet.core.resize.verdict import Deferred, Granted, Infeasible, Preempting, Verdict

NODE = NodeFacts(allocatable=amounts("2,2Gi,pods=110"))
FULL = Deferred("OutOfcpu", "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000")


def named(name: str, spec: Pod, **labels: str) -> Pod:
    return replace(spec, metadata=ObjectMeta(name=name, uid=name, labels=labels))


OTHERS = (neighbours.neighbour(named("q", pod(container("c", "1500m,1Gi"))), None),)
SMALL, LARGE = pod(container("c", "100m,64Mi")), pod(container("c", "1,64Mi"))


def wish(desired: Pod = LARGE, others: tuple[Neighbour, ...] = OTHERS, **spec: Any) -> Wish:
    return Wish(named("p", replace(desired, spec=replace(desired.spec, **spec))), of_spec(SMALL), others)


@pytest.mark.parametrize(
    ("asked", "node", "verdict"),
    [
        (wish(others=()), NODE, Granted()),
        (wish(), NODE, FULL),
        (wish(priority=2_000_000_000), NODE, Preempting((PodUid("q"),))),
        (
            wish(),
            replace(NODE, pressures=("DiskPressure", "PIDPressure")),
            Deferred("Evicted", "The node had condition: [DiskPressure PIDPressure]. "),
        ),
        (wish(others=(), priority=2_000_000_000), replace(NODE, pressures=("DiskPressure",)), Granted()),
        (wish(others=()), replace(NODE, pressures=("MemoryPressure",)), Granted()),
        (
            wish(others=()),
            replace(NODE, shutting_down=True),
            Deferred("NodeShutdown", "Pod was rejected as the node is shutting down."),
        ),
        (wish(), replace(NODE, shutting_down=True), FULL),
        (
            wish(),
            replace(NODE, rules=NodeRules(platform="windows"), pressures=("DiskPressure",)),
            Infeasible("windows", "In-place pod resize is not supported on Windows"),
        ),
        (
            wish(pod(container("c", "3,64Mi")), priority=2_000_000_000),
            NODE,
            Infeasible(
                "node_capacity",
                "Node didn't have enough resource: cpu, requested: 3000, used: 1500, capacity: 2000",
            ),
        ),
    ],
)
def test_admit(asked: Wish, node: NodeFacts, verdict: Verdict) -> None:
    assert admit(asked, node) == verdict


def test_best_effort_pods_wait_under_memory_pressure_unless_they_tolerate_it() -> None:
    """Only a pod whose class is recorded can be BestEffort and ask for something."""
    pressed = replace(NODE, pressures=("MemoryPressure",))
    desired = replace(LARGE, status=PodStatus(qos_class="BestEffort"))
    tolerant = (Toleration(key="node.kubernetes.io/memory-pressure", operator="Exists", effect="NoSchedule"),)
    assert admit(wish(desired, ()), pressed) == Deferred("Evicted", "The node had condition: [MemoryPressure]. ")
    assert admit(wish(desired, (), tolerations=tolerant), pressed) == Granted()
    assert admit(wish(desired, (), tolerations=(Toleration(operator="Exists"),)), pressed) == Granted()


def test_callers_add_rules_of_their_own() -> None:
    refusal = Deferred("NodeAffinity", "no")
    assert admit(wish(), NODE, (*RULES[:2], lambda _, __: refusal, *RULES[2:])) == refusal


def test_a_balloon_never_preempts() -> None:
    asked = wish(priority=2_000_000_000)
    balloon = replace(asked.pod, metadata=replace(asked.pod.metadata, labels={"flexlet.io/balloon": "true"}))
    assert admit(replace(asked, pod=balloon), NODE) == FULL


def balloon(held: str, wanted: str, *, guaranteed: bool = False, priority: int = 1_000_000_000) -> Wish:
    sizes = [pod(container("c", each, each if guaranteed else ""), priority=priority) for each in (held, wanted)]
    desired = replace(sizes[1], status=PodStatus(qos_class="Guaranteed" if guaranteed else "Burstable"))
    meta = ObjectMeta(name="b", uid="b", namespace="kube-system", labels={"flexlet.io/balloon": "true"})
    return Wish(replace(desired, metadata=meta), of_spec(sizes[0]), OTHERS)


SWAPPING = NodeRules(cgroups=CgroupSettings(memory_swap_behavior="LimitedSwap"))
STATIC = NodeRules(cpu_manager_policy="static", memory_manager_policy="Static")
SHORT = "Node didn't have enough resource: memory, requested: 1610612736, used: 1073741824, capacity: 2147483648"


@pytest.mark.parametrize("priority", [1_000_000_000, 2_000_001_000])
@pytest.mark.parametrize(
    ("asked", "node", "verdict"),
    [
        # W + B > A in memory, and what is given back does not cure it.
        (("1,3Gi", "500m,2Gi"), NODE, Granted()),
        (("1,1Gi", "500m,1Gi"), replace(NODE, pressures=("DiskPressure", "PIDPressure")), Granted()),
        (("1,1Gi", "500m,1Gi"), replace(NODE, shutting_down=True), Granted()),
        (("1,1Gi", "500m,512Mi"), replace(NODE, rules=SWAPPING), Granted()),
        (("500m,512Mi", "500m,1Gi"), replace(NODE, pressures=("DiskPressure",)), Granted()),
        (("500m,1Gi", "500m,1536Mi"), NODE, Deferred("OutOfmemory", SHORT)),
        # One unit: what does not fit holds up what would be given back.
        (("500m,1Gi", "100m,1536Mi"), NODE, Deferred("OutOfmemory", SHORT)),
        (
            ("1,1Gi", "500m,1Gi"),
            replace(NODE, rules=NodeRules(platform="windows")),
            Infeasible("windows", "In-place pod resize is not supported on Windows"),
        ),
    ],
)
def test_a_balloon_that_gives_back_is_always_granted(
    asked: tuple[str, str], node: NodeFacts, verdict: Verdict, priority: int
) -> None:
    assert admit(balloon(*asked, priority=priority), node) == verdict


def test_static_managers_let_a_guaranteed_balloon_give_back() -> None:
    node = replace(NODE, rules=STATIC)
    assert admit(balloon("1,1Gi", "500m,512Mi", guaranteed=True), node) == Granted()
    assert isinstance(admit(balloon("100m,1Gi", "500m,1Gi", guaranteed=True), node), Infeasible)


def test_neighbours_count_with_the_larger_of_allocated_and_actual() -> None:
    """Neither the wish nor a condition of an older one counts."""
    desired = pod(container("c", "100m,1Gi"))
    shrinking = replace(desired, status=PodStatus(container_statuses=(reported("c", "300m,64Mi", "800m,64Mi"),)))
    granted = of_spec(pod(container("c", "300m,128Mi")))
    assert neighbours.held(shrinking, granted) == {"cpu": 800, "memory": 128 * 1024**2}
    assert neighbours.held(desired, granted) == {"cpu": 300, "memory": 128 * 1024**2}
    assert neighbours.held(desired, None) == {"cpu": 100, "memory": 1024**3}
    assert neighbours.held(desired, NOTHING) == {"cpu": 100, "memory": 1024**3}
