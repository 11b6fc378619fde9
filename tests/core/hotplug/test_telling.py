from typing import Any

import pytest
from tests.core.hotplug import nodes

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.core.actions import RecordEvent
from flexlet.core.agent.record import Ending
from flexlet.core.hotplug import metrics, telling, victims
from flexlet.core.hotplug.metrics import Count
from flexlet.core.hotplug.plan import ResizePlan, plan
from flexlet.core.hotplug.preparing import Decision, Prepared
from flexlet.core.machine.difference import Change
from flexlet.core.machine.machine import HalfPlugged, Machine
from flexlet.core.managers.resync import Move, Resynced
from flexlet.core.managers.state import Managers
from flexlet.core.node.facts import Resizing

B = nodes.tenant("b", "500m,2Gi", ",4Gi")
WEB = nodes.tenant("web", "500m,4Gi", age=1)
NODE = {"kind": "Node", "apiVersion": "v1", "name": "node-1"}
POD = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": "web", "uid": "web"}


def planned(machine: Machine, number: int = 6, **more: Any) -> ResizePlan:
    found = plan(nodes.generation(number), machine, 1.0, nodes.situation(B, WEB, **more))
    assert isinstance(found, ResizePlan)
    return found


def event(about: dict[str, str], kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component="kubelet")


UP = planned(nodes.machine(8, "16Gi"))
DOWN = planned(nodes.machine(memory="4Gi"))


def test_the_node_tells_its_new_size() -> None:
    text = "capacity changed: cpu 4→8, memory 8Gi→16Gi (generation 7)"
    assert telling.resized("node-1", UP) == event(NODE, "Normal", "NodeResized", text)


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        (nodes.machine(swap="0"), "swap 4Gi→0"),
        (nodes.machine((0, 1, 2, 4)), "cpu 4 moved"),
        (nodes.machine(hugepages={2**21: 512}, pids=9), "hugepages-2Mi 0→1Gi, pids 0→9"),
        (nodes.machine(numa=()), "memory 8Gi moved, NUMA nodes 1→0"),
    ],
)
def test_what_changed_is_said_as_people_write_it(machine: Machine, text: str) -> None:
    assert telling.sizes(planned(machine)) == f"capacity changed: {text} (generation 7)"


def test_troubles_are_warnings() -> None:
    assert telling.failed("node-1", "no") == event(NODE, "Warning", "FailedNodeResize", "no")
    text = "pods still use 5Gi, limited to 3Gi all the same (generation 7)"
    assert telling.forced("node-1", DOWN, 5 * 1024**3) == event(NODE, "Warning", "NodeResizeForced", text)
    parts = HalfPlugged(offline_cpus=CpuSet.parse("4-5"), offline_blocks=(1, 2, 3))
    text = "CPUs 4-5 there and offline; 3 blocks of memory there and offline"
    assert telling.half_plugged("node-1", parts) == event(NODE, "Warning", "NodeHalfPlugged", text)


def test_a_victim_is_told_twice_and_ends_as_failed() -> None:
    """In the words of admission, and with what became of the node."""
    (victim,) = DOWN.victims
    why = "Node didn't have enough resource: memory, requested: 4294967296, used: 2147483648, capacity: 3116367872"
    more = "the node has 2972Mi of memory for pods and had 7068Mi (generation 7)"
    assert telling.ended(DOWN, victim) == (
        event(POD, "Warning", "OutOfmemory", why),
        event(POD, "Warning", "NodeCapacityExceeded", more),
    )
    text = f"Pod was rejected: {why}"
    assert victims.ending(victim) == Ending(reason="OutOfmemory", message=text, grace_s=30, disruption=text)
    late = "Container runtime did not kill the pod within specified grace period."
    assert telling.overdue(victim) == event(POD, "Warning", "ExceededGracePeriod", late)


def test_other_cpus_are_told_to_the_pod() -> None:
    move = Move("web", "c", CpuSet.parse("1-2"), CpuSet.parse("1,3"))
    stranger = Move("gone", "c", CpuSet.parse("1"), CpuSet.parse("2"))
    found = planned(nodes.machine(5), resync=lambda *_: Resynced(managers=Managers(), reassigned=(move, stranger)))
    text = "Container c: exclusive CPUs 1-2→1,3"
    assert telling.reassigned(found.reassigned, (B, WEB)) == (
        event(POD, "Normal", "ExclusiveCPUsReassigned", text),
    )


def test_the_condition_names_the_worst_first() -> None:
    """And says everything that holds."""
    assert telling.stable(7) == Resizing(generation=7, reason="Stable")
    found = telling.stable(7, ("CPUOvercommitted", "BelowReserved"), HalfPlugged(offline_blocks=(1,)))
    assert found == Resizing(
        generation=7,
        reason="BelowReserved",
        message="the machine has less than is reserved for daemons, so pods get nothing of that; "
        "pods request more CPU than there is; they run slower; 1 block of memory there and offline",
    )
    assert telling.stable(7, parts=HalfPlugged()).reason == "Stable"
    assert telling.stable(7, parts=HalfPlugged(offline_blocks=(1,))).reason == "HalfPlugged"


def test_the_condition_on_the_way() -> None:
    moving = "capacity changed: memory 8Gi→4Gi (generation 7)"
    assert telling.in_progress(DOWN, closed=True) == Resizing(
        generation=7, reason="InProgress", message=moving, closed=True
    )
    assert telling.has_failed(6, "no") == Resizing(generation=6, reason="Failed", message="no")


def test_an_announced_unplug_is_told_beside_the_size() -> None:
    """What is worse keeps its reason; a refusal is in the message then."""
    refused = Decision(state=Prepared(phase="refused"), refused="no")
    assert telling.offered(Resizing(generation=6), refused) == Resizing(
        generation=6, reason="UnplugRefused", message="no"
    )
    assert telling.offered(telling.has_failed(6, "full"), refused) == telling.has_failed(6, "full; no")
    less = {"cpu": Quantity.parse("2")}
    ready = Decision(state=Prepared(phase="ready"), ceiling=less, unplug_ready=6)
    assert telling.offered(Resizing(generation=6), ready) == Resizing(
        generation=6,
        reason="InProgress",
        message="parts of the machine are offline and can be unplugged",
        closed=True,
        ceiling=less,
        unplug_ready=6,
    )
    moving = telling.in_progress(DOWN)
    assert telling.offered(moving, Decision(state=Prepared(phase="restoring"))) == moving
    assert telling.refusal("node-1", "no") == event(NODE, "Warning", "UnplugRefused", "no")


def test_what_is_counted() -> None:
    assert metrics.begun(UP) == (Count(metrics.RESYNCS),)
    assert metrics.begun(DOWN) == (Count(metrics.RESYNCS), Count(metrics.UNPLUGS))
    assert metrics.done(UP) == (
        Count(metrics.REQUESTS, ("cpu", "increase")),
        Count(metrics.REQUESTS, ("memory", "increase")),
    )
    assert metrics.done(planned(nodes.machine((0, 1, 2, 4)))) == ()
    assert metrics.ended(DOWN) == (
        Count(metrics.VICTIMS, ("OutOfmemory",)),
        Count(metrics.REJECTIONS, ("OutOfmemory",)),
    )
    assert metrics.failed(UP, "cgroup_update") == (
        Count(metrics.RESYNC_ERRORS),
        Count(metrics.ERRORS, ("cgroup_update",)),
    )
    assert metrics.failed(DOWN, "pod_readmission") == (
        Count(metrics.RESYNC_ERRORS),
        Count(metrics.ERRORS, ("pod_readmission",)),
        Count(metrics.UNPLUG_ERRORS),
    )
    again = plan(nodes.generation(6), nodes.machine(memory="4Gi"), 1.0, nodes.situation(B), DOWN.generation)
    assert isinstance(again, ResizePlan)
    assert metrics.begun(again) == ()


def test_changes_have_units() -> None:
    assert DOWN.generation.changes == (Change("memory", "decrease", 8 * 1024**3, 4 * 1024**3),)
