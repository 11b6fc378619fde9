"""Whatever is left of a checkpoint, the agent starts, and what runs goes on running."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine.agent.managed import G2, NODE, SHARED, settled
from tests.engine.agent.world import Json, World, amounts, condition, is_ready, world

from flexlet.core.balloon import enforcement
from flexlet.core.hotplug import saved
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE
from flexlet.engine.agent.ledger import ACTUATED, ALLOCATED
from flexlet.engine.agent.replaced import REPLACED
from flexlet.testing import run

pytestmark = pytest.mark.slow

FILES = (ALLOCATED, ACTUATED, REPLACED, CPU_FILE, MEMORY_FILE, saved.FILE, enforcement.FILE)
LARGE = amounts("2500m,32Mi", "3,64Mi")
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda raw: raw[: len(raw) // 2],
    "emptied": lambda _: b"",
    "noise": lambda raw: bytes((7 * number + 129) % 256 for number in range(len(raw) or 64)),
    "other JSON": lambda _: b"[1]",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_the_agent_starts_and_pods_run_on_as_large_as_they_were(tmp_path: Path, name: str, damage: str) -> None:
    """A deferred resize must not become the allocation: the pod would no longer fit, and be rejected."""

    async def story() -> None:
        async with world(tmp_path, NODE) as there:
            uid = await there.create("web", {"c": SHARED})
            await there.until("web", is_ready)
            await there.create("other", {"c": G2})
            await there.until("other", is_ready)
            await there.cluster.resize("web", {"spec": {"containers": [{"name": "c", "resources": LARGE}]}})
            await there.until("web", is_deferred)
            before = running(there, uid), there.node.pod_cgroups(uid)
            await there.node.kill()
            files = there.node.checkpoints.files
            files[name] = DAMAGES[damage](files.get(name, b""))
            await there.node.start()
            await settled(30.0)
            assert (running(there, uid), there.node.pod_cgroups(uid)) == before
            await there.create("next", {"c": SHARED})
            await there.until("next", is_ready)

    run(story())


def is_deferred(found: Json | None) -> bool:
    return found is not None and condition(found, "PodResizePending").get("reason") == "Deferred"


def running(there: World, uid: str) -> set[str]:
    return {each.id for each in there.node.containers(uid).values()}
