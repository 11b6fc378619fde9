"""``flexlet get`` against a server: whole output, as people and as programs see it."""

import json
import signal
import subprocess
import sys

import pytest
from tests.cli.conftest import PRIORITIES, Api, Command, Json

from flexlet.core.nodesize import names
from flexlet.ports.cluster import NAMESPACES, NODES, PODS

pytestmark = pytest.mark.slow

BIG = {"cpu": "15", "memory": "60Gi", "pods": "110"}
RESIZING = {"type": "NodeResize", "status": "True", "reason": "HalfPlugged", "message": "memory40 is offline"}
READY = {"type": "Ready", "status": "True"}
TEACH = (
    "error: this cluster does not know FlexVM (vm.flexlet.io/v1alpha1): `flexlet print-manifests |"
    " kubectl apply -f -` teaches it, and `flexlet controllers` runs the VMs\n"
)
DEFERRED = {
    "type": "PodResizePending",
    "status": "True",
    "reason": "Deferred",
    "message": "Node didn't have enough resource: cpu, requested: 8000, used: 4000, capacity: 8000",
}


def same(cpu: str, memory: str) -> Json:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


@pytest.fixture(scope="module")
def world(api: Api) -> Api:
    """Two nodes: one with a balloon and workloads, half plugged; one that is empty, cordoned and unwell."""
    api.create(PRIORITIES, {"metadata": {"name": names.CLASS}, "value": names.CLASS_VALUE})
    notes = {
        "flexlet.io/generation": "7",
        "resize.node.kubernetes.io/initial-capacity": '{"cpu":"4","memory":"8Gi"}',
        names.DESIRED_CAPACITY: '{"cpu":"12"}',
    }
    status = {
        "conditions": [READY, RESIZING],
        "capacity": BIG | {"cpu": "16", "memory": "64Gi", "hugepages-2Mi": "1Gi"},
    }
    node = api.node("n1", BIG, status=status, annotations=notes)
    api.node("n2", {"cpu": "500m", "memory": "1Gi"}, status={"conditions": []})
    api.patch(NODES, "n2", {"spec": {"unschedulable": True}})
    api.patch(NODES, "n1", {"spec": {"taints": [{"key": "flexlet.io/resizing", "effect": "NoSchedule"}]}})
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node["metadata"]["uid"]}
    balloon = {"labels": {names.LABEL: "true"}, "ownerReferences": [owner]}
    api.pod(
        "flexlet-balloon-n1",
        "n1",
        same("7", "28Gi"),
        "kube-system",
        metadata=balloon,
        priorityClassName=names.CLASS,
    )
    api.pod("web", "n1", same("4", "16Gi"))
    api.create(NAMESPACES, {"metadata": {"name": "team"}})
    api.pod("db", "n1", {"requests": {"cpu": "500m"}}, "team")
    api.patch(
        PODS,
        "web",
        {"spec": {"containers": [{"name": "c", "image": "i", "resources": same("8", "16Gi")}]}},
        "default",
        subresource="resize",
    )
    api.report("web", same("4", "16Gi"), DEFERRED)
    about = {"kind": "Node", "name": "n1"}
    told = "capacity changed: cpu 4→16, memory 8Gi→64Gi (generation 7)"
    api.event(about, "NodeResized", told, "2026-01-01T00:00:01Z")
    api.event(about, "NodeHalfPlugged", "memory40 is offline", "2026-01-01T00:00:02Z", "Warning")
    api.event(about, "Rebooted", "not about size", "2026-01-01T00:00:00Z")
    return api


NODES_TABLE = """\
NAME  STATUS                      RESOURCE  ALLOCATABLE  BALLOON  EFFECTIVE  USED  HEADROOM                          RESIZE
n1    Ready                       cpu       15           7        8          8.5   -0.5      [###########ooooooooo]  HalfPlugged
n1    Ready                       memory    60Gi         28Gi     32Gi       16Gi  16Gi      [#####......ooooooooo]  HalfPlugged
n2    Unknown,SchedulingDisabled  cpu       0.5          0        0.5        0     0.5       [....................]  -
n2    Unknown,SchedulingDisabled  memory    1Gi          0        1Gi        0     1Gi       [....................]  -
"""  # noqa: E501  as wide as a terminal


def test_nodes(world: Api, flexlet: Command) -> None:
    """Where a resize is deferred, what it asks for is promised already."""
    del world
    assert flexlet("get", "nodes") == (0, NODES_TABLE, "")


def test_nodes_for_programs(world: Api, flexlet: Command) -> None:
    del world
    code, printed, _ = flexlet("get", "nodes", "-o", "json")
    assert code == 0
    assert json.loads(printed)[0] == {
        "name": "n1",
        "status": "Ready",
        "generation": 7,
        "resize": "HalfPlugged",
        "resources": {
            "cpu": {
                "capacity": "16",
                "allocatable": "15",
                "balloon": "7",
                "effective": "8",
                "used": "8500m",
                "headroom": "-500m",
            },
            "memory": {
                "capacity": "64Gi",
                "allocatable": "60Gi",
                "balloon": "28Gi",
                "effective": "32Gi",
                "used": "16Gi",
                "headroom": "16Gi",
            },
        },
    }


def test_one_node(world: Api, flexlet: Command) -> None:
    del world
    code, printed, talk = flexlet("get", "node", "n1")
    facts, _, events = printed.partition("\nLAST")
    assert (code, talk) == (0, "")
    assert facts == (
        "Name:            n1\n"
        "Status:          Ready\n"
        "Generation:      7\n"
        "NodeResize:      HalfPlugged: memory40 is offline\n"
        "Taints:          flexlet.io/resizing:NoSchedule\n"
        "Registered with: cpu 4, memory 8Gi\n"
        "Prepares for:    cpu 12, not ready yet\n"
        "\n"
        "RESOURCE       CAPACITY  ALLOCATABLE  BALLOON  EFFECTIVE  USED  HEADROOM\n"
        "cpu            16        15           7        8          8.5   -0.5      [###########ooooooooo]\n"
        "memory         64Gi      60Gi         28Gi     32Gi       16Gi  16Gi      [#####......ooooooooo]\n"
        "pods           110       110\n"
        "hugepages-2Mi  1Gi       1Gi\n"
    )
    assert [line.split(maxsplit=3)[1:] for line in events.splitlines()[1:]] == [
        ["Normal", "NodeResized", "capacity changed: cpu 4→16, memory 8Gi→64Gi (generation 7)"],
        ["Warning", "NodeHalfPlugged", "memory40 is offline"],
    ]


def test_one_node_for_programs(world: Api, flexlet: Command) -> None:
    del world
    found = json.loads(flexlet("get", "node", "n1", "-o", "json")[1])
    del found["resources"]
    assert found == {
        "name": "n1",
        "status": "Ready",
        "generation": 7,
        "resize": "HalfPlugged",
        "condition": RESIZING,
        "taints": ["flexlet.io/resizing:NoSchedule"],
        "initialCapacity": {"cpu": "4", "memory": "8Gi"},
        "desiredCapacity": {"cpu": "12"},
        "unplugReady": "",
        "others": {
            "hugepages-2Mi": {"capacity": "1Gi", "allocatable": "1Gi"},
            "pods": {"capacity": "110", "allocatable": "110"},
        },
        "nodeSize": None,
        "events": [
            {
                "at": "2026-01-01T00:00:01Z",
                "type": "Normal",
                "reason": "NodeResized",
                "message": "capacity changed: cpu 4→16, memory 8Gi→64Gi (generation 7)",
                "count": 1,
            },
            {
                "at": "2026-01-01T00:00:02Z",
                "type": "Warning",
                "reason": "NodeHalfPlugged",
                "message": "memory40 is offline",
                "count": 1,
            },
        ],
    }


def test_a_node_that_does_not_follow_its_machine(world: Api, flexlet: Command) -> None:
    del world
    assert flexlet("get", "node", "n2")[1].splitlines()[:5] == [
        "Name:            n2",
        "Status:          Unknown,SchedulingDisabled",
        "Generation:      none: this node does not follow its machine",
        "NodeResize:      none",
        "Taints:          node.kubernetes.io/not-ready:NoSchedule",
    ]


PODS_TABLE = """\
NAME  NODE  STATUS   RESOURCE  DESIRED    ALLOCATED  ACTUAL     RESIZE
web   n1    Running  cpu       8/8        4          4/4        REASON
web   n1    Running  memory    16Gi/16Gi  16Gi       16Gi/16Gi  REASON
"""
TEAM_TABLE = """\
NAME  NODE  STATUS   RESOURCE  DESIRED  ALLOCATED  ACTUAL  RESIZE
db    n1    Running  cpu       0.5      0.5        0.5     -
db    n1    Running  memory    -        -          -       -
"""


def test_pods(world: Api, flexlet: Command) -> None:
    del world
    reason = f"Deferred: {DEFERRED['message']}"
    assert flexlet("get", "pods") == (0, PODS_TABLE.replace("REASON", reason), "")
    assert flexlet("get", "pods", "-n", "team") == (0, TEAM_TABLE, "")
    listed = [line.split()[:2] for line in flexlet("get", "pods", "-A")[1].splitlines()[1::2]]
    assert listed == [["default", "web"], ["kube-system", "flexlet-balloon-n1"], ["team", "db"]]


def test_pods_for_programs(world: Api, flexlet: Command) -> None:
    del world
    assert json.loads(flexlet("get", "pods", "-n", "team", "-o", "json")[1]) == [
        {
            "namespace": "team",
            "name": "db",
            "node": "n1",
            "phase": "Running",
            "desired": {"requests": {"cpu": "500m"}, "limits": {}},
            "allocated": {"requests": {"cpu": "500m"}, "limits": {}},
            "actual": {"requests": {"cpu": "500m"}, "limits": {}},
            "conditions": [],
        }
    ]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("node", "n3"), (1, "", "error: there is no node n3: there are n1, n2\n")),
        (("pods", "-n", "empty"), (0, "", "there are no pods in namespace empty\n")),
        (
            ("vms",),
            (1, "", TEACH),
        ),
    ],
)
def test_what_is_not_there_is_said(
    world: Api, flexlet: Command, words: tuple[str, ...], answer: tuple[int, str, str]
) -> None:
    del world
    assert flexlet("get", *words) == answer


def test_watching_prints_what_has_changed(world: Api) -> None:
    """Again as a whole, until interrupted."""
    command = [sys.executable, "-m", "flexlet", "get", "nodes", "--watch", "--kubeconfig", str(world.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "".join(process.stdout.readline() for _ in range(5)) == NODES_TABLE
        world.patch(NODES, "n2", {"metadata": {"annotations": {"flexlet.io/generation": "1"}}})
        assert "".join(process.stdout.readline() for _ in range(6)) == f"\n{NODES_TABLE}"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "\n")
        assert process.returncode == 130
    world.patch(NODES, "n2", {"metadata": {"annotations": {"flexlet.io/generation": None}}})
