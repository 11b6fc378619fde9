"""A node with a node's rights against a server: what the pure tests promise is what a cluster accepts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest_asyncio
from tests.core.node.nodes import MACHINE, SETTINGS, facts

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.api.status import NotFound
from flexlet.apiserver.auth.kubeconfig import kubeconfig as written
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.facts import Address
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import EVENTS, LEASES, NODES, Ref

USER = "system:node:node-a"
OWN = (Address("InternalIP", "10.0.0.1"), Address("Hostname", "node-a"))


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with serving(Settings(data=tmp_path / "data"), SystemClock()) as running:
        yield running


@pytest_asyncio.fixture
async def cluster(server: ApiServer, tmp_path: Path) -> AsyncIterator[HttpCluster]:
    """A client whose certificate is that of the node."""
    credential = server.pki.client(USER, ["system:nodes"], server.clock.now())
    path = tmp_path / "kubeconfig"
    path.write_text(written(server.url, server.pki.ca_pem, USER, credential))
    async with HttpCluster(kubeconfig.load(path)) as client:
        yield client


async def eventually(read: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """What `read` brings as soon as it is as wanted."""
    async with asyncio.timeout(20):
        while True:
            try:
                found = msgspec.json.decode(await read())
            except NotFound:
                found = None
            if found is not None and wanted(found):
                return found
            await asyncio.sleep(0.02)


async def test_a_node_may_do_what_it_does(server: ApiServer, cluster: HttpCluster) -> None:
    """Registration, Lease, events and changes of the status pass the node authorizer and NodeRestriction."""
    clock = SystemClock()
    decider = NodeDecider(SETTINGS)
    feed = Feed(cluster, clock, NODES, field_selector="metadata.name=node-a")
    loop = Loop(decider, [feed], Executor(cluster, Recorder(cluster, clock, "node-a")), clock)
    known = facts(addresses=OWN, runtime_ready_at=clock.now() + 60, image_capacity=0)
    task = asyncio.create_task(loop.run())
    try:
        decider.learn(known)

        def read(ref: Ref, namespace: str = "") -> Callable[[], Any]:
            return lambda: server.cluster.get(ref, namespace, "node-a")

        node = await eventually(read(NODES), lambda node: bool(node["status"].get("conditions")))
        lease = await eventually(read(LEASES, "kube-node-lease"), lambda lease: bool(lease["spec"]))
        assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"] == decider.uid
        assert node["status"]["capacity"]["memory"] == "1959256Ki"
        grown = msgspec.structs.replace(MACHINE, memory=MACHINE.memory + (1 << 30))
        moved = (
            Address("InternalIP", "10.0.0.2"),
            Address("InternalIP", "fd00::2"),
            Address("Hostname", "node-a"),
        )
        decider.learn(msgspec.structs.replace(known, machine=grown, addresses=moved))
        loop.wake()
        later = await eventually(read(NODES), lambda node: node["status"]["capacity"]["memory"] != "1959256Ki")
        assert [each["address"] for each in later["status"]["addresses"]] == ["10.0.0.2", "fd00::2", "node-a"]
        assert later["status"]["capacity"] == node["status"]["capacity"] | {"memory": "3007832Ki"}
        events = [msgspec.json.decode(raw) for raw in (await server.cluster.list(EVENTS, "default")).items]
        assert {(event["reason"], event["source"]["host"]) for event in events} >= {
            ("Starting", "node-a"),
            ("InvalidDiskCapacity", "node-a"),
            ("NodeHasSufficientMemory", "node-a"),
        }
        assert loop.statistics().failures == 0
    finally:
        task.cancel()
        await asyncio.wait([task])
