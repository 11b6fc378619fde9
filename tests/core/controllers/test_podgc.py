"""Pods that nobody else removes."""

from tests.core.controllers.world import NOW, Object, decide, gone, pod, seen, short, stamp, tell

from flexlet.core.actions import DeleteObject, LookUp, PatchObject
from flexlet.core.controllers.podgc import PodGcDecider
from flexlet.core.observations import Absent, Failed
from flexlet.core.refs import NODES, PODS


def node(name: str) -> Object:
    return {"metadata": {"name": name, "uid": f"uid-{name}"}}


def deletion(name: str) -> DeleteObject:
    return DeleteObject(
        ref=PODS,
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        grace_seconds=0,
        on_behalf_of=f"uid-{name}",
    )


def decider(*pods: Object, nodes: tuple[str, ...] = ("n1",), threshold: int = 12_500) -> PodGcDecider:
    made = PodGcDecider(threshold)
    tell(made, seen(PODS, *pods), seen(NODES, *map(node, nodes)))
    return made


def test_pods_of_a_node_that_is_gone_are_failed_and_then_deleted() -> None:
    made = decider(pod("a"), pod("b", phase="Succeeded"), pod("c", node="n2"), nodes=("n1", "n2"))
    assert decide(made) == ()
    tell(made, gone(NODES, node("n1")))
    plan = made.decide(NOW)
    assert (plan.actions, plan.wake_at) == ((), NOW + 40), "it may only be late"
    assert decide(made, NOW + 40) == (LookUp(ref=NODES, name="n1"),)
    tell(made, [Absent(NODES, "", "n1")])
    mark, removal = decide(made, NOW + 40)
    reason = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": stamp(40),
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    }
    assert mark == PatchObject(
        ref=PODS,
        namespace="default",
        name="a",
        patch={"metadata": {"uid": "uid-a"}, "status": {"phase": "Failed", "conditions": [reason]}},
        kind="strategic",
        subresource="status",
        on_behalf_of="uid-a",
    )
    assert removal == deletion("b")
    tell(made, seen(PODS, pod("a", phase="Failed")))
    assert decide(made, NOW + 40) == (deletion("a"),)
    tell(made, gone(PODS, pod("a"), pod("b")))
    assert decide(made, NOW + 99) == ()


def test_a_node_that_is_there_after_all_keeps_its_pods() -> None:
    made = decider(pod("a"), nodes=())
    decide(made)
    assert decide(made, NOW + 40) == (LookUp(ref=NODES, name="n1"),)
    tell(made, seen(NODES, node("n1")))
    assert decide(made, NOW + 99) == ()


def test_a_node_that_comes_in_time_is_not_looked_up() -> None:
    made = decider(pod("a"), nodes=())
    decide(made)
    tell(made, seen(NODES, node("n1")))
    assert decide(made, NOW + 40) == ()


def test_a_failed_look_up_is_repeated() -> None:
    made = decider(pod("a"), nodes=())
    decide(made)
    [ask] = decide(made, NOW + 40)
    tell(made, [Failed(ask, 500, "InternalError", "no")])
    assert decide(made, NOW + 40) == ()
    assert decide(made, NOW + 41) == (ask,)


def test_pods_bound_to_a_lost_node_later_go_too() -> None:
    made = decider(pod("a"), nodes=())
    decide(made)
    decide(made, NOW + 40)
    tell(made, [Absent(NODES, "", "n1")])
    decide(made, NOW + 40)
    tell(made, seen(PODS, pod("b")))
    assert short(decide(made, NOW + 41)) == [("patch", "pods", "b", "status")]


def test_a_pod_that_waits_for_nobody_is_removed() -> None:
    """It was being deleted before it had a node, so no node will confirm it."""
    stuck = pod("a", node="", phase="Pending", deletionTimestamp=stamp())
    made = decider(stuck)
    [mark] = decide(made)
    assert isinstance(mark, PatchObject)
    assert mark.patch["status"] == {"phase": "Failed"}
    tell(made, seen(PODS, pod("a", node="", phase="Failed", deletionTimestamp=stamp())))
    assert decide(made) == (deletion("a"),)
    tell(made, seen(PODS, pod("a", node="", phase="Failed", deletionTimestamp=stamp(), finalizers=["x/y"])))
    assert decide(made) == (), "once is enough"


def test_ended_pods_beyond_the_number_go_evicted_and_oldest_first() -> None:
    pods = [
        pod("new", phase="Failed", creationTimestamp=stamp(-1)),
        pod("old", phase="Succeeded", creationTimestamp=stamp(-9)),
        pod("evicted", phase="Failed", creationTimestamp=stamp(-1), status={"reason": "Evicted"}),
        pod("running"),
    ]
    made = decider(*pods, threshold=1)
    assert decide(made) == (deletion("evicted"), deletion("old"))
    assert decide(made) == ()
    tell(made, gone(PODS, pods[1], pods[2]))
    assert decide(made) == ()


def test_a_refused_deletion_is_repeated() -> None:
    made = decider(pod("a", phase="Failed"), threshold=0)
    [removal] = decide(made)
    tell(made, [Failed(removal, 500, "InternalError", "no")])
    assert decide(made, NOW + 1) == (removal,)
