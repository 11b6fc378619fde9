"""The machine goes down: pods end in order, the node says so."""

from pathlib import Path

import msgspec
from tests.engine.agent.nodes import NODE, Node, node, run

from flexlet.adapters.meters import Ledger
from flexlet.core.kubeletconfig.config import ShutdownPeriod
from flexlet.engine.agent.shutdown import NodeShutdown
from flexlet.ports.cluster import NODES

PERIODS = (
    ShutdownPeriod(priority=0, shutdown_grace_period_seconds=20),
    ShutdownPeriod(priority=2_000_000_000, shutdown_grace_period_seconds=10),
)
STUBBORN = {"name": "app", "image": "busybox:1", "command": ["sh", "-c", "trap '' TERM; sleep 100000"]}


async def ready(at: Node) -> tuple[str, str]:
    found = msgspec.json.decode(await at.cluster.cluster.get(NODES, "", NODE))
    condition = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
    return condition["status"], condition["message"]


def test_ordinary_pods_end_before_critical_ones(tmp_path: Path) -> None:
    """Each within its group's time; the API knows how and why, and nobody new comes in."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin()
            await at.pod("web", containers=[STUBBORN], terminationGracePeriodSeconds=300)
            await at.passes(5)
            meters = Ledger()
            shutdown = NodeShutdown(PERIODS, agent.loop, agent.selfview, at.clock, meters)
            began = at.clock.now()
            await shutdown.run()
            assert 20 <= at.clock.now() - began < 25
            status = (await at.cluster.pod("web"))["status"]
            assert (status["phase"], status["reason"], status["message"]) == (
                "Failed",
                "Terminated",
                "Pod was terminated in response to imminent node shutdown.",
            )
            assert await ready(at) == ("False", "node is shutting down")
            await at.pod("late")
            await at.passes(5)
            assert (await at.cluster.pod("late"))["status"]["reason"] == "NodeShutdown"
            shown = {each.name for each in meters.families() if each.samples}
            assert {
                "kubelet_graceful_shutdown_start_time_seconds",
                "kubelet_graceful_shutdown_end_time_seconds",
            } <= shown

    run(tale())


def test_a_node_without_pods_is_down_at_once(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin()
            began = at.clock.now()
            await NodeShutdown(PERIODS, agent.loop, agent.selfview, at.clock, Ledger()).run()
            assert at.clock.now() == began

    run(tale())
