"""Nodes that grow for pods without a place and shrink when idle, in a real Kubernetes 1.36.3 (balloon.md §9).

API server, controllers and scheduler are Kubernetes' own: what is tried is that its scheduler says what the
autoscaler listens to, and looks again when a balloon got smaller. The nodes are hollow. flexlet's controllers have
nothing but their own account.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from bench import controlplane
from tests.cluster import ours
from tests.cluster.vmnode import Kubectl

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.apps import nodesize
from flexlet.apps.controllers import Part, Wiring
from flexlet.core import refs
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import DECLARED_FEATURES, Machine
from flexlet.core.nodesize.autoscaler import ScalerSettings

LACKING = controlplane.missing()
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(LACKING), reason=LACKING),
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
]
QUIET_S = 4.0
PATIENCE_S = 60.0
NODES = ("kept", "ours", "far")
SMALLEST = {"kept": "3", "ours": "2", "far": "1"}
"""CPUs of each at first, and the least it shall have; the first needs least for the pod, and is not for it."""
WEB = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3500m", "memory": "2Gi"}}}],
    },
}


@pytest_asyncio.fixture(loop_scope="module")
async def kubectl(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubectl]:
    """A cluster of three hollow nodes of 8 CPUs and 16Gi, with balloons and the autoscaler."""
    with controlplane.control_plane() as real:
        await asyncio.to_thread(real.start_controllers)
        made = Kubectl(real.kubeconfig)
        await asyncio.to_thread(ours.install, made)
        place = await asyncio.to_thread(ours.account, real, tmp_path_factory.mktemp("account") / "controllers")
        async with (
            HttpCluster(kubeconfig.load(real.kubeconfig)) as admin,
            HttpCluster(kubeconfig.load(place)) as account,
            ours.running(_parts(admin, account)),
        ):
            yield made


def _parts(admin: HttpCluster, account: HttpCluster) -> list[Part]:
    clock = SystemClock()
    nodes, controllers = Wiring(admin, clock), Wiring(account, clock)
    fleet = Fleet(NODES, Machine(cpus=8, memory=16 << 30), "v1.36.3", list(DECLARED_FEATURES))
    nodes.add(fleet, (refs.NODES, refs.PODS), pace_s=0.0)
    options = nodesize.Options(autoscale=True, scaling=ScalerSettings(quiet_s=QUIET_S))
    beside = nodesize.add_nodesizes(controllers, account, clock, options)
    return [*nodes.parts(), *controllers.parts(), *beside]


def _size(node: str) -> str:
    amounts = {"cpu": SMALLEST[node], "memory": "4Gi"}
    meta, spec = {"name": node}, {"target": {"effective": amounts}, "minEffective": amounts}
    return json.dumps({"apiVersion": "flexlet.io/v1alpha1", "kind": "NodeSize", "metadata": meta, "spec": spec})


def _effective(kubectl: Kubectl) -> dict[str, str]:
    """CPUs of the nodes that are as big as they shall be."""
    items: list[dict[str, Any]] = json.loads(kubectl("get", "nodesizes", "-o", "json"))["items"]
    return {
        item["metadata"]["name"]: item["status"]["effective"]["cpu"]
        for item in items
        if any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"]["conditions"])
    }


def _placed(kubectl: Kubectl) -> tuple[str, str]:
    pod = kubectl.get("pod", "web")
    return pod["spec"].get("nodeName", ""), pod["status"]["phase"]


async def test_the_right_node_grows_for_a_pod_that_waits_and_shrinks_when_it_is_gone(kubectl: Kubectl) -> None:
    """The tainted node would need least; of the others the one that needs less grows, by what is missing."""
    await kubectl.until("the nodes are there", lambda: _ready_nodes(kubectl) == set(NODES), PATIENCE_S)
    await asyncio.to_thread(kubectl, "taint", "node", "kept", "dedicated=db:NoSchedule")
    for node in NODES:
        await asyncio.to_thread(kubectl, "apply", "-f", "-", text=_size(node))
    await kubectl.until("the nodes are small", lambda: _effective(kubectl) == SMALLEST, PATIENCE_S)

    await asyncio.to_thread(kubectl, "apply", "-f", "-", text=json.dumps(WEB))
    await kubectl.until("the pod runs", lambda: _placed(kubectl) == ("ours", "Running"), PATIENCE_S)
    await kubectl.until("it is told", lambda: _effective(kubectl) == SMALLEST | {"ours": "3500m"}, PATIENCE_S)
    assert _scaled(kubectl) == {"ours": ["target effective is now 3500m CPUs and 4Gi: for pods that wait"]}

    await asyncio.to_thread(kubectl, "delete", "pod", "web", "--wait")
    await kubectl.until("what is idle is taken back", lambda: _effective(kubectl) == SMALLEST, PATIENCE_S)
    assert _scaled(kubectl)["ours"][-1] == "target effective is now 2 CPUs and 4Gi: idle"


def _ready_nodes(kubectl: Kubectl) -> set[str]:
    """Ready, and no longer marked by Kubernetes' own controller as not being so."""
    items = json.loads(kubectl("get", "nodes", "-o", "json"))["items"]
    return {item["metadata"]["name"] for item in items if not item["spec"].get("taints")}


def _scaled(kubectl: Kubectl) -> dict[str, list[str]]:
    """What was said about changed targets."""
    items = json.loads(kubectl("get", "events", "-o", "json", "--sort-by=.metadata.creationTimestamp"))["items"]
    told: dict[str, list[str]] = {}
    for event in items:
        if event["reason"] == "NodeSizeScaled":
            told.setdefault(event["involvedObject"]["name"], []).append(event["message"])
    return told
