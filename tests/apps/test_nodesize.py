"""The controller of NodeSizes as it is wired: installed, led, and alone."""

import asyncio
import contextlib

import pytest
from tests.scenarios.nodesize.world import SIZES, World, world

from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apps import nodesize
from flexlet.apps.nodesize import Options, controllers
from flexlet.core.nodesize import names
from flexlet.core.nodesize.settings import ClusterFacts
from flexlet.errors import ConfigError
from flexlet.ports.cluster import LEASES, Ref
from flexlet.testing.cluster import serving
from flexlet.testing.simtime import SimClock, run

CLASSES = Ref("scheduling.k8s.io", "v1", "priorityclasses")


def test_a_cluster_without_the_kind_is_told_how_to_get_it() -> None:
    async def story() -> None:
        async with serving(SimClock()) as sim:
            with pytest.raises(ConfigError, match=r"flexlet print-manifests \| kubectl apply -f -"):
                await controllers(sim.cluster, sim.clock, Options())

    run(story())


def test_what_is_needed_is_installed_once_and_brought_up_to_date() -> None:
    async def story() -> None:
        async with serving(SimClock()) as sim:
            definitions = Definitions(sim.rest, sim.cluster, sim.clock)
            await definitions.load()
            for _ in range(2):
                await nodesize.install(sim.cluster)
            assert (await sim.cluster.list(SIZES)).items == ()
            assert await sim.cluster.get(CLASSES, "", names.CLASS)

    run(story())


async def _sized(stage: World, options: Options, seconds: float) -> None:
    task = asyncio.create_task(controllers(stage.sim.cluster, stage.sim.clock, options))
    await stage.settle(seconds)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_the_one_that_leads_does_the_work_and_lets_go_in_the_end() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.apply({"target": {"balloon": {"cpu": "7", "memory": "28Gi"}}})
            options = Options(lease_namespace="kube-system", identity="me")
            await _sized(stage, options, 5)
            assert (await stage.figures())["balloon"] == (7, 28)
            lease = await stage.get(LEASES, names.LEASE, "kube-system")
            assert lease is not None
            assert lease["spec"].get("holderIdentity", "") == ""
            assert options.tally.resizes == {("Inflate", "granted"): 2}

    run(story())


def test_a_second_controller_waits() -> None:
    async def story() -> None:
        async with world() as stage:
            first = Options(lease_namespace="kube-system", identity="a")
            second = Options(lease_namespace="kube-system", identity="b")
            async with asyncio.TaskGroup() as group:
                group.create_task(_sized(stage, first, 10))
                await stage.settle(1)
                waiting = group.create_task(_sized(stage, second, 8))
                await stage.apply({"target": {"balloon": {"cpu": "7", "memory": "28Gi"}}})
                await waiting
            assert first.tally.resizes == {("Inflate", "granted"): 2}
            assert second.tally.resizes == {}

    run(story())


@pytest.mark.parametrize(
    ("vouched", "known"),
    [(False, ClusterFacts()), (True, ClusterFacts(version=(1, 36), spares_victims=True))],
)
def test_the_release_of_the_server_is_looked_up_and_not_believed(vouched: bool, known: ClusterFacts) -> None:
    async def read(path: str) -> bytes:
        assert path == "/version"
        return b'{"gitVersion": "v1.36.3", "major": "1"}'

    assert asyncio.run(nodesize.facts(read, spares_victims=vouched)) == known
