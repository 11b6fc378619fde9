"""What stays in step with pods and machine, how often, and what a change of the world touches."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.core.agent.builders import container, pod, record
from tests.engine.agent.nodes import NODE, Node, node, plain, run
from tests.engine.fakes import ManualClock

from flexlet.core.actions import RecordEvent
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.world import World
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.engine.agent.hands.images import Tokens
from flexlet.engine.agent.loop import _touched
from flexlet.errors import HostError, RuntimeFault
from flexlet.ports.cluster import NODES, PODS
from flexlet.testing.host import GIB


class Noted:
    """A runtime that notes what it is told of addresses."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.cidrs: list[str] = []
        self.refuses = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def update_pod_cidr(self, cidr: str) -> None:
        if self.refuses:
            raise RuntimeFault("not now")
        self.cidrs.append(cidr)


async def give(at: Node, *cidrs: str) -> None:
    """As the cluster gives a node addresses for its pods."""
    patch = {"spec": {"podCIDR": cidrs[0], "podCIDRs": list(cidrs)}}
    await at.cluster.cluster.patch(NODES, "", NODE, patch)


def test_the_runtime_learns_where_pods_get_their_addresses(tmp_path: Path) -> None:
    """From the file at first, from the cluster once it has spoken; again and again while it refuses."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            noted = Noted(at.sim.runtime)
            await at.begin(runtime=noted, pod_cidr="10.1.0.0/24")
            await at.passes(5)
            assert noted.cidrs == ["10.1.0.0/24"]
            noted.refuses = True
            await give(at, "10.2.0.0/24", "fd00::/64")
            await at.passes(5)
            noted.refuses = False
            await at.passes(5)
            assert noted.cidrs == ["10.1.0.0/24", "10.2.0.0/24,fd00::/64"]

    run(tale())


def test_labels_of_the_node_decide_who_may_come(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            await at.passes(5)
            body = plain("picky", nodeSelector={"disk": "fast"})
            body["spec"]["nodeName"] = NODE
            await at.cluster.create(PODS, body)
            await at.passes(5)
            assert (await at.cluster.pod("picky"))["status"]["reason"] == "NodeAffinity"
            await at.cluster.cluster.patch(NODES, "", NODE, {"metadata": {"labels": {"disk": "fast"}}})
            await at.passes(5)
            body["metadata"]["name"] = "glad"
            await at.cluster.create(PODS, body)
            await at.passes(5)
            assert await at.phase("glad") == "Running"

    run(tale())


def test_the_cgroup_of_all_pods_follows_the_machine(tmp_path: Path) -> None:
    """At once when it grows; a quiet node is looked after once a minute."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin(resize=ResizeSettings(plug=True))
            await at.passes(5)
            before = at.sim.kernel.read("kubepods", "memory.max")
            at.host.memory = 3 * GIB
            agent.following.look_again()
            await at.passes(1)
            after = at.sim.kernel.read("kubepods", "memory.max")
            assert (before, after) == (str(2 * GIB), str(3 * GIB))

    run(tale())


def test_trouble_with_the_tree_is_the_nodes_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin(resize=ResizeSettings(plug=True))
            await at.passes(5)

            async def refuse(*_: Any) -> None:
                raise HostError("read-only")

            monkeypatch.setattr(agent._cgroups._tree, "make", refuse)
            await at.passes(65)
            assert agent.selfview.facts is not None
            assert agent.selfview.facts.enforcement == "read-only"

    run(tale())


def test_strangers_are_ended(tmp_path: Path) -> None:
    """A pod that was deleted for good while no agent was there."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            await at.pod("web")
            await at.passes(5)
            await at.end()
            await at.cluster.delete("web", grace_s=0)
            await at.begin()
            await at.passes(20)
            assert at.sim.containerd.containers == {}
            assert at.sim.containerd.sandboxes == {}

    run(tale())


def test_events_wait_for_their_turn(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            turns: list[float] = []

            async def turn() -> None:
                turns.append(at.clock.now())

            agent = await at.begin(event_turn=turn)
            about = {"kind": "Node", "apiVersion": "v1", "name": NODE}
            agent.loop.announce(
                [RecordEvent(about=about, type="Normal", reason="Sung", message="la", component="kubelet")]
            )
            await at.passes(1)
            assert len(turns) == 1
            assert "Sung" in [each["reason"] for each in await at.cluster.events()]

    run(tale())


def test_a_change_touches_only_what_it_changes() -> None:
    """The surroundings concern every pod, a record its own."""
    one, two = record(pod(container("a"))), record(pod(container("b")))
    before = World(setup=NodeSetup(name="n"), pods={"1": one, "2": two})
    assert _touched(before, before) == set()
    changed = before.with_pods({"2": msgspec.structs.replace(two, stopped=True)})
    assert _touched(before, changed) == {"2"}
    assert _touched(before, msgspec.structs.replace(before, listed=True)) == {"1", "2"}


def test_pulls_have_a_pace() -> None:
    """So many at once, then so many a second; without a rate there is none."""
    clock = ManualClock()
    tokens = Tokens(2, 3, clock)
    assert [tokens.take() for _ in range(4)] == [True, True, True, False]
    clock.advance(0.5)
    assert [tokens.take() for _ in range(2)] == [True, False]
    clock.advance(100)
    assert [tokens.take() for _ in range(4)] == [True, True, True, False]
    assert all(Tokens(0, 0, clock).take() for _ in range(100))


def test_a_pull_beyond_the_pace_is_a_failure_like_any_other(tmp_path: Path) -> None:
    """It backs off and comes again, with the kubelet's words."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(pull_qps=0.001, pull_burst=1)
            for name in ("one", "two"):
                app = {"name": "app", "image": f"{name}:1", "imagePullPolicy": "Always"}
                await at.pod(name, containers=[app])
            await at.passes(2)
            told = [each["message"] for each in await at.cluster.events() if each["reason"] == "Failed"]
            assert [each for each in told if "pull QPS exceeded" in each] == [
                'Failed to pull image "two:1": pull QPS exceeded'
            ]

    run(tale())
