import pytest
from tests.core.node.nodes import FACTS, NOW, STAMP, WELL, facts

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.node.conditions import conditions
from flexlet.core.node.facts import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE, NodeFacts
from flexlet.core.node.readiness import problems
from flexlet.core.runtime.shown import RuntimeCondition, RuntimeStatus

CAPACITY: ResourceList = dict.fromkeys(("cpu", "memory", "pods", "ephemeral-storage"), Quantity.parse("1"))
NO_NETWORK = RuntimeStatus(
    conditions=(
        RuntimeCondition(type="RuntimeReady", status=True),
        RuntimeCondition(type="NetworkReady", status=False, reason="NetworkPluginNotReady", message="no CNI"),
    )
)
NETWORK_TEXT = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no CNI"
)


@pytest.mark.parametrize(
    ("node", "capacity", "text"),
    [
        (FACTS, CAPACITY, ""),
        (facts(runtime=NO_NETWORK), CAPACITY, NETWORK_TEXT),
        (facts(runtime_ready_at=NOW - 29), CAPACITY, ""),
        (facts(runtime_ready_at=NOW - 30), CAPACITY, "container runtime is down"),
        (facts(shutting_down=True), CAPACITY, "node is shutting down"),
        (facts(runtime=NO_NETWORK, shutting_down=True), CAPACITY, f"[{NETWORK_TEXT}, node is shutting down]"),
        (
            facts(runtime=None, runtime_ready_at=None),
            CAPACITY,
            "[container runtime status check may not have completed yet, network state unknown]",
        ),
        (
            facts(runtime=RuntimeStatus(conditions=(RuntimeCondition(type="NetworkReady", status=True),))),
            CAPACITY,
            "container runtime not ready: RuntimeReady=false reason: message:",
        ),
        (facts(problems=("a", "a")), CAPACITY, "a"),
        (
            FACTS,
            {"cpu": Quantity.parse("1")},
            "missing node capacity for resources: memory, pods, ephemeral-storage",
        ),
    ],
)
def test_everything_that_is_wrong_is_said(node: NodeFacts, capacity: ResourceList, text: str) -> None:
    """One problem as it is, several in brackets."""
    assert problems(node, capacity, NOW, storage_is_counted=True) == text


def test_storage_need_not_be_counted() -> None:
    without = {name: amount for name, amount in CAPACITY.items() if name != "ephemeral-storage"}
    assert problems(FACTS, without, NOW, storage_is_counted=False) == ""


def test_pressures_have_their_words() -> None:
    """Reason, message and the event that tells of the transition; the first Ready is no transition."""
    found = conditions([], facts(pressures=frozenset({MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE})), "x", NOW)
    assert [(c["type"], c["status"], c["reason"], c["message"]) for c in found.all] == [
        ("MemoryPressure", "True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        ("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
        ("PIDPressure", "True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        ("Ready", "False", "KubeletNotReady", "x"),
    ]
    assert found.news == ("NodeHasInsufficientMemory", "NodeHasDiskPressure", "NodeHasInsufficientPID")


def test_a_transition_has_its_time() -> None:
    """What stays keeps its time; what the node controller set to Unknown is a transition too."""
    later = conditions(list(conditions([], FACTS, "", NOW - 60).all), facts(runtime=WELL), "broken", NOW)
    assert [(c["type"], c["lastTransitionTime"], c["lastHeartbeatTime"]) for c in later.all] == [
        ("MemoryPressure", "2027-01-15T07:59:00Z", STAMP),
        ("DiskPressure", "2027-01-15T07:59:00Z", STAMP),
        ("PIDPressure", "2027-01-15T07:59:00Z", STAMP),
        ("Ready", STAMP, STAMP),
    ]
    assert later.news == ("NodeNotReady",)
    unknown = [{**c, "status": "Unknown", "reason": "NodeStatusUnknown"} for c in later.all]
    assert conditions(unknown, FACTS, "", NOW).news == (
        "NodeHasSufficientMemory",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientPID",
        "NodeReady",
    )
