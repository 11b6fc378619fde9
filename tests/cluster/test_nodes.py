"""Nodes under kubectl: what they show, and what cordon, drain and taints do to the pods on them."""

import json
from collections.abc import Iterator

import pytest
from tests.cluster.kubectl import Kubectl
from tests.cluster.tables import AGE, Like, cells, rows, section

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def healed(kubectl: Kubectl) -> Iterator[None]:
    """Whatever a test does to the shared nodes is taken back."""
    yield
    kubectl.run("kubectl uncordon hollow-0 hollow-1 hollow-2; kubectl taint nodes --all dedicated-")


def test_nodes_are_listed_and_described(kubectl: Kubectl) -> None:
    """Status, version, capacity and the pods with their share."""
    assert rows(kubectl.lines("get nodes")) == [
        ["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
        *([f"hollow-{index}", "Ready", "<none>", AGE, "v1.36.3"] for index in range(3)),
    ]
    requests = {"requests": {"cpu": "2", "memory": "8Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}}
    spec = {"nodeName": "hollow-1", "containers": [{"name": "c", "image": "x", "resources": requests}]}
    kubectl("apply -f -", json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}))
    described = kubectl.lines("describe node hollow-1")
    capacity = dict(cells(line) for line in section(described, "Capacity:"))
    assert (capacity["cpu:"], capacity["memory:"], capacity["pods:"]) == ("8", "32Gi", "110")
    ready = [cells(line) for line in section(described, "Conditions:") if line.startswith("Ready")]
    assert [row[1] for row in ready] == ["True"]
    (mine,) = [line for line in map(cells, described) if line[0] == kubectl.namespace]
    assert mine[1:4] == ["p", "2 (25%)", "4 (50%)"]
    assert "Lease:" in described
    kubectl("delete pod p --now")


def test_a_cordoned_node_gets_no_pods(kubectl: Kubectl) -> None:
    """New pods go to the others; the node says so in its status."""
    assert kubectl.lines("cordon hollow-0") == ["node/hollow-0 cordoned"]
    assert rows(kubectl.lines("get node hollow-0 --no-headers"))[0][1] == "Ready,SchedulingDisabled"
    kubectl("create deployment web --image=x:1 --replicas=6")
    kubectl("rollout status deployment web --timeout=30s")
    nodes = set(kubectl("get pods -o jsonpath={.items[*].spec.nodeName}").split())
    assert nodes == {"hollow-1", "hollow-2"}
    assert kubectl.lines("uncordon hollow-0") == ["node/hollow-0 uncordoned"]


def test_drain_moves_pods_and_respects_budgets(kubectl: Kubectl) -> None:
    """Evicted pods come up elsewhere; bare pods need force; a budget that allows nothing holds the drain up."""
    kubectl("create deployment movable --image=x:1 --replicas=3")
    kubectl("rollout status deployment movable --timeout=30s")
    spec = {"nodeName": "hollow-1", "containers": [{"name": "c", "image": "x"}]}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}, "spec": spec}
    kubectl("apply -f -", json.dumps(bare))
    selected = "--pod-selector=app=movable"
    refusal = kubectl.refused("drain hollow-1 --ignore-daemonsets")
    assert f"{kubectl.namespace}/bare" in refusal
    drained = kubectl.lines(f"drain hollow-1 {selected} --timeout=30s")
    assert drained[-1] == "node/hollow-1 drained"
    kubectl("rollout status deployment movable --timeout=30s")
    assert "hollow-1" not in kubectl("get pods -l app=movable -o jsonpath={.items[*].spec.nodeName}").split()
    kubectl("create pdb web --selector=app=movable --min-available=3")
    kubectl("wait --for=jsonpath={.status.expectedPods}=3 pdb/web --timeout=30s")
    kubectl(f"drain hollow-2 {selected} --disable-eviction --timeout=30s")
    kubectl("rollout status deployment movable --timeout=30s")
    refusal = kubectl.refused(f"drain hollow-0 {selected} --timeout=2s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refusal
    kubectl("delete pod bare --now")


def test_a_no_execute_taint_removes_pods(kubectl: Kubectl) -> None:
    """Pods that do not tolerate it are gone soon; `NoSchedule` leaves those that run."""
    kubectl("create deployment web --image=x:1 --replicas=3")
    kubectl("rollout status deployment web --timeout=30s")
    names = kubectl.lines("get pods --field-selector spec.nodeName=hollow-2 -o name")
    assert names
    assert kubectl.lines("taint node hollow-2 dedicated=x:NoSchedule") == ["node/hollow-2 tainted"]
    assert kubectl.lines("get pods --field-selector spec.nodeName=hollow-2 -o name") == names
    kubectl("taint node hollow-2 dedicated=x:NoExecute")
    for name in names:
        kubectl(f"wait --for=delete {name} --timeout=30s")
    kubectl("rollout status deployment web --timeout=30s")
    assert "hollow-2" not in kubectl("get pods -o jsonpath={.items[*].spec.nodeName}").split()
    evictions = rows(kubectl.lines("get events --field-selector reason=TaintManagerEviction --no-headers"))
    assert evictions[0][1:3] == ["Normal", "TaintManagerEviction"]
    assert evictions[0][-1] == Like(rf"Marking for deletion Pod {kubectl.namespace}/web-\w+-\w+")
