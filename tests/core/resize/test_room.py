"""Whether a node grants a new size, and who is asked first."""

from typing import Any

import pytest

from flexlet.api import decode
from flexlet.api.pod import Pod, ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.core.resize import allocation, queue, room
from flexlet.core.resize.verdict import Deferred, Granted, Infeasible, Verdict

NODE = {"cpu": Quantity.parse("4"), "memory": Quantity.parse("8Gi"), "pods": Quantity.parse("110")}


def pod(cpu: str, memory: str = "1Gi", **extra: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return decode.from_value({"spec": {"containers": [container], **extra.pop("spec", {})}, **extra}, Pod)


def granted(cpu: str, memory: str = "1Gi") -> allocation.Allocation:
    return allocation.of_spec(pod(cpu, memory))


@pytest.mark.parametrize(
    ("wish", "held", "others", "verdict"),
    [
        (pod("2"), granted("1"), {"cpu": 2000}, Granted()),
        (
            pod("3"),
            granted("1"),
            {"cpu": 2000},
            Deferred(
                "OutOfcpu", "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
            ),
        ),
        (
            pod("1", "9Gi"),
            granted("1"),
            {},
            Infeasible(
                "node_capacity",
                "Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592",
            ),
        ),
        # On an overcommitted node a decrease is granted (upstream may defer it).
        (pod("300m"), granted("500m"), {"cpu": 3900}, Granted()),
        # cpu goes down, memory up: that is an increase.
        (
            pod("1", "2Gi"),
            granted("2"),
            {"memory": 7 * 1024**3},
            Deferred(
                "OutOfmemory",
                "Node didn't have enough resource: memory, requested: 2147483648, used: 7516192768, "
                "capacity: 8589934592",
            ),
        ),
    ],
)
def test_room(wish: Pod, held: allocation.Allocation, others: dict[str, int], verdict: Verdict) -> None:
    assert room.ask(wish, held, others, NODE) == verdict


def test_the_allocation_is_read_back_from_the_status() -> None:
    """Requests from allocatedResources, limits from resources, pod level only where the spec has it."""
    status = {
        "containerStatuses": [
            {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"limits": {"cpu": "2"}}}
        ],
        "resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": "3"}},
    }
    spec = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}}
    seen = allocation.of_status(pod("2", spec=spec, status=status))
    quantities = {text: Quantity.parse(text) for text in ("1", "2", "3", "1500m")}
    assert seen == allocation.Allocation(
        {"c": ResourceRequirements(requests={"cpu": quantities["1"]}, limits={"cpu": quantities["2"]})},
        ResourceRequirements(requests={"cpu": quantities["1500m"]}, limits={"cpu": quantities["3"]}),
    )
    assert allocation.of_status(pod("1")) is None


def test_applying_what_was_granted_gives_the_pod_the_node_runs() -> None:
    assert allocation.applied(pod("3"), granted("1")) == pod("1")


def test_queue_order() -> None:
    """Non-increasing first, then priority, then Guaranteed, then the longest wait; no wait goes last."""

    def waits(since: str) -> dict[str, Any]:
        return {"conditions": [{"type": "PodResizePending", "status": "True", "lastTransitionTime": since}]}

    held = granted("1")
    shrinking = pod("500m")
    important = pod("2", spec={"priority": 10}, status=waits("2026-01-02T00:00:00Z"))
    guaranteed = pod("2", status={"qosClass": "Guaranteed", **waits("2026-01-02T00:00:00Z")})
    oldest = pod("2", status=waits("2026-01-01T00:00:00Z"))
    younger = pod("2", status=waits("2026-01-02T00:00:00Z"))
    unmarked = pod("2")
    waiting = [unmarked, younger, oldest, guaranteed, important, shrinking]
    assert sorted(waiting, key=lambda p: queue.order(p, held)) == waiting[::-1]
