"""Pods as lines of a table: states recorded from a real server and from upstream's own printer."""

from typing import Any

import pytest
from tests.apiserver.kinds.pod.pods import Pod, kind, lines

from flexlet.api import age

NOW = 1_780_000_000.0
TIMES = {"creationTimestamp", "deletionTimestamp", "finishedAt"}
RUNNING: dict[str, Any] = {"running": {}}
CREATED = age.format_seconds(NOW - 60)
READY = {"type": "Ready", "status": "True"}


def waiting(reason: str) -> dict[str, Any]:
    """A container that waits."""
    return {"waiting": {"reason": reason}}


def ended(code: int, **more: Any) -> dict[str, Any]:
    """A container that ended."""
    return {"terminated": {"exitCode": code, **more}}


def part(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A container status; ready if it runs."""
    return {"state": state, "ready": state is RUNNING, "restartCount": 0, **more}


def pod(
    *containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), sidecars: int = 0, **status: Any
) -> Pod:
    """A pod with these container statuses; the first init containers are sidecars."""
    regular = [{"name": f"c{i}", **container} for i, container in enumerate(containers)]
    first = [{"name": f"i{i}", **container} for i, container in enumerate(init)]
    spec: dict[str, Any] = {
        "containers": [{"name": c["name"]} for c in regular] or [{"name": "c0"}],
        "nodeName": "n",
    }
    spec["initContainers"] = [
        {"name": c["name"], **({"restartPolicy": "Always"} if i < sidecars else {})} for i, c in enumerate(first)
    ]
    return {
        "metadata": {"name": "p", "creationTimestamp": CREATED},
        "spec": spec,
        "status": {"phase": "Running", "containerStatuses": regular, "initContainerStatuses": first, **status},
    }


def ago(seconds: int) -> dict[str, Any]:
    """A last state that ended some time ago."""
    return ended(1, finishedAt=age.format_seconds(NOW - seconds))


RECORDED: list[tuple[str, Pod, tuple[str, str, str]]] = [
    ("badimage", pod(part(waiting("ErrImagePull")), phase="Pending"), ("0/1", "ErrImagePull", "0")),
    ("completedone", pod(part(RUNNING), part(ended(0, reason="Completed"))), ("1/2", "NotReady", "0")),
    (
        "crash",
        pod(part(waiting("CrashLoopBackOff"), restartCount=5, lastState=ago(21))),
        ("0/1", "CrashLoopBackOff", "5 (21s ago)"),
    ),
    ("creating", pod(part(waiting("ContainerCreating")), phase="Pending"), ("0/1", "ContainerCreating", "0")),
    ("done", pod(part(ended(0, reason="Completed")), phase="Succeeded"), ("0/1", "Completed", "0")),
    ("evicted", pod(phase="Failed", reason="Evicted"), ("0/1", "Evicted", "0")),
    ("exitcode", pod(part(ended(3)), phase="Failed"), ("0/1", "ExitCode:3", "0")),
    ("failed", pod(part(ended(1, reason="Error")), phase="Failed"), ("0/1", "Error", "0")),
    ("half", pod(part(ended(1, reason="Error")), part(RUNNING)), ("1/2", "Error", "0")),
    (
        "init",
        pod(part(waiting("PodInitializing")), init=(part(ended(0)), part(RUNNING))),
        ("0/1", "Init:1/2", "0"),
    ),
    (
        "initcrash",
        pod(part(waiting("PodInitializing")), init=(part(waiting("CrashLoopBackOff"), restartCount=2),)),
        ("0/1", "Init:CrashLoopBackOff", "2"),
    ),
    ("initfail", pod(init=(part(ended(1, reason="Error")),), phase="Pending"), ("0/1", "Init:Error", "0")),
    ("initrun", pod(init=(part(RUNNING, restartCount=1), part(waiting("")))), ("0/1", "Init:0/2", "1")),
    ("lost", pod(part(RUNNING), reason="NodeLost"), ("1/1", "NodeLost", "0")),
    ("notready", pod(part(RUNNING), part(RUNNING, ready=False)), ("1/2", "Running", "0")),
    ("pending", pod(phase="Pending"), ("0/1", "Pending", "0")),
    (
        "restarted",
        pod(part(RUNNING, restartCount=3, lastState=ago(121)), part(RUNNING)),
        ("2/2", "Running", "3 (2m1s ago)"),
    ),
    ("running", pod(part(RUNNING), part(RUNNING)), ("2/2", "Running", "0")),
    ("sidecar", pod(part(RUNNING), init=(part(RUNNING, started=True),), sidecars=1), ("2/2", "Running", "0")),
    ("signal", pod(part(ended(137, signal=9)), phase="Failed"), ("0/1", "Signal:9", "0")),
    (
        "one done, ready",
        pod(part(RUNNING), part(ended(0, reason="Completed")), conditions=[READY]),
        ("1/2", "Running", "0"),
    ),
]


@pytest.mark.parametrize(("obj", "cells"), [case[1:] for case in RECORDED], ids=[case[0] for case in RECORDED])
def test_ready_status_restarts(obj: Pod, cells: tuple[str, str, str]) -> None:
    """The three cells that sum a pod up, for the states a real server was recorded in."""
    assert kind().strategy.cells(obj, NOW) == ["p", *cells, "60s", "<none>", "n", "<none>", "<none>"]


def test_wide_cells() -> None:
    """Address, nomination and readiness gates show where there are any."""
    obj = pod(phase="Pending", podIPs=[{"ip": "10.1.0.5"}, {"ip": "::1"}], nominatedNodeName="m")
    obj["spec"]["readinessGates"] = [{"conditionType": "a"}, {"conditionType": "b"}]
    obj["status"]["conditions"] = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    assert kind().strategy.cells(obj, NOW)[5:] == ["10.1.0.5", "n", "m", "1/2"]


def test_gated_and_terminating() -> None:
    """Gates and deletion overrule the phase."""
    gated = pod(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}])
    assert kind().strategy.cells(gated, NOW)[2] == "SchedulingGated"
    leaving = pod(part(RUNNING))
    leaving["metadata"]["deletionTimestamp"] = CREATED
    assert kind().strategy.cells(leaving, NOW)[2] == "Terminating"
    leaving["status"]["reason"] = "NodeLost"
    assert kind().strategy.cells(leaving, NOW)[2] == "Unknown"


def timed(value: Any) -> Any:
    """Seconds from now as times."""
    if isinstance(value, dict):
        return {
            key: age.format_seconds(NOW + item) if key in TIMES else timed(item) for key, item in value.items()
        }
    return [timed(item) for item in value] if isinstance(value, list) else value


def test_upstream_cells() -> None:
    """States that upstream's printer was asked about; times are seconds from now."""
    for case in lines("kinds/pod_cells.jsonl"):
        assert kind().strategy.cells(timed(case["pod"]), NOW) == case["cells"]


def test_columns() -> None:
    """One cell for every column."""
    strategy = kind().strategy
    assert [column.name for column in strategy.columns] == [
        *("Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"),
    ]
    assert len(strategy.cells(pod(), NOW)) == len(strategy.columns)
