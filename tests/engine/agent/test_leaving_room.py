"""A pod that the scheduler placed on room which the API has freed already is admitted once that room is free."""

from pathlib import Path

from tests.engine.agent.world import amounts as sized
from tests.engine.agent.world import is_gone, is_ready, world

from flexlet.api.units import GIB
from flexlet.testing import NodeOptions, run

STUBBORN = ["sh", "-c", "trap '' TERM; sleep 100000 & wait"]
NODE = NodeOptions(cpus="0-1", memory=4 * GIB)


def test_a_pod_deleted_without_grace_does_not_get_its_successor_rejected(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path, NODE) as there:
            first = await there.create("first", {"c": {"command": STUBBORN, "resources": sized("1500m,64Mi")}})
            await there.until("first", is_ready)
            await there.cluster.delete("first", grace_s=0)
            await there.until("first", is_gone)
            assert there.node.containers(first)
            await there.create("second", {"c": sized("1500m,64Mi")})
            found = await there.until("second", is_ready)
            assert (found["status"]["phase"], there.node.containers(first)) == ("Running", {})

    run(story())
