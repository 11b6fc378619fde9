"""How many pods wait for a node."""

from tests.core.scheduling.cluster import pod

from flexlet.core.scheduling.pending import is_placed, render

NO_ROOM = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
HEAD = (
    "# HELP scheduler_pending_pods Pods that wait for a node: not tried yet, held back by gates, or tried and "
    "without room.\n# TYPE scheduler_pending_pods gauge\n"
)


def counts(*numbers: int) -> str:
    queues = ("active", "backoff", "gated", "unschedulable")
    rows = zip(queues, numbers, strict=True)
    return HEAD + "".join(f'scheduler_pending_pods{{queue="{queue}"}} {number}\n' for queue, number in rows)


def test_pods_are_counted_by_why_they_wait() -> None:
    waiting = [
        pod("new"),
        pod("big", status=NO_ROOM),
        pod("bigger", status=NO_ROOM),
        pod("held", status=NO_ROOM, schedulingGates=[{"name": "example.com/later"}]),
    ]
    gone = [pod("web", on="n1"), pod("done", status={"phase": "Succeeded"})]
    assert render([*waiting, *gone]) == counts(1, 0, 1, 2)
    assert render([]) == counts(0, 0, 0, 0)


def test_a_pod_with_a_node_is_known_by_its_text() -> None:
    assert is_placed(b'{"metadata":{"name":"web"},"spec":{"containers":[],"nodeName":"n1"}}')
    assert not is_placed(b'{"metadata":{"labels":{"nodeName":"n1"}},"spec":{"nodeName":""}}')
    assert not is_placed(b'{"metadata":{"name":"web"}}')
