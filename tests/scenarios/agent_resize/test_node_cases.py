"""Edge cases that need more than a story: broken checkpoints, other servers, runtimes that do not play along."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import World, amounts, is_ready, is_resized, world

from flexlet.adapters.sim import refusals
from flexlet.api.status import ApiError
from flexlet.engine.agent.ledger import ALLOCATED
from flexlet.testing import NodeOptions, run

Json = dict[str, Any]

SMALL = amounts("100m,32Mi", "200m,64Mi")
LEVEL = amounts("200m,64Mi", "300m,96Mi")


def grown(name: str = "c") -> Json:
    return {"spec": {"containers": [{"name": name, "resources": amounts("150m,48Mi", "250m,80Mi")}]}}


async def settled(there: World, **spec: Any) -> str:
    uid = await there.create("p", {"c": SMALL}, **spec)
    await there.until("p", is_ready)
    return uid


def test_more_than_the_node_has_is_refused_by_the_server(tmp_path: Path) -> None:
    """Row 11: the node never hears of it."""

    async def story() -> tuple[int, str, Json]:
        async with world(tmp_path) as there:
            await settled(there)
            wish: Json = {"spec": {"containers": [{"name": "c", "resources": amounts("3,32Mi", "3,64Mi")}]}}
            with pytest.raises(ApiError) as refused:
                await there.cluster.resize("p", wish)
            await asyncio.sleep(5)
            return refused.value.code, str(refused.value), (await there.cluster.pod("p"))["status"]

    code, text, status = run(story())
    assert code == 403
    assert "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000" in text
    assert status["observedGeneration"] == 1


def test_a_corrupt_checkpoint_is_set_aside_and_containers_run_on(tmp_path: Path) -> None:
    """Row 28, where the kubelet does not start: the other record counts, and the corrupt one is kept."""
    corrupt = b'{"data":"{}","checksum":1}'

    async def story() -> None:
        async with world(tmp_path) as there:
            uid = await settled(there)
            ran = {each.id for each in there.node.containers(uid).values()}
            await there.node.kill()
            files = there.node.checkpoints.files
            files[ALLOCATED] = corrupt
            await there.node.start()
            await asyncio.sleep(10)
            assert {each.id for each in there.node.containers(uid).values()} == ran
            assert files[f"{ALLOCATED}.bad"] == corrupt

    run(story())


def test_a_node_without_the_pod_level_feature(tmp_path: Path) -> None:
    """Row 47: what the node does not declare the server refuses; containers are resized as ever."""

    async def story() -> tuple[str, Json, str]:
        gates = {"featureGates": {"InPlacePodLevelResourcesVerticalScaling": False}}
        async with world(tmp_path, NodeOptions(config=gates)) as there:
            uid = await settled(there, resources=LEVEL)
            with pytest.raises(ApiError) as refused:
                await there.cluster.resize("p", {"spec": {"resources": amounts("250m,64Mi", "300m,96Mi")}})
            await there.cluster.resize("p", grown())
            found = await there.until("p", is_resized)
            return str(refused.value), found["status"], there.node.pod_cgroups(uid)["c"]["memory.max"]

    text, status, limit = run(story())
    assert "requires features InPlacePodLevelResourcesVerticalScaling which are not available" in text
    assert limit == str(80 << 20)
    assert "resources" not in status
    assert "allocatedResources" not in status


def test_a_runtime_that_cannot_follow_does_not_undo_a_resize(tmp_path: Path) -> None:
    """Row 49: telling the runtime about the sandbox is best effort (Kubernetes 1.36.3 rejects the resize)."""

    async def refuse(*_: Any) -> None:
        raise refusals.fault("no such thing")

    async def story() -> Json:
        async with world(tmp_path) as there:
            uid = await settled(there)
            there.node.sim.runtime.update_sandbox = refuse  # type: ignore[method-assign,assignment]
            await there.cluster.resize("p", grown())
            await there.until("p", is_resized)
            return there.node.pod_cgroups(uid)

    cgroups = run(story())
    assert cgroups["."]["memory.max"] == cgroups["c"]["memory.max"] == str(80 << 20)
    assert cgroups["."]["cpu.max"] == cgroups["c"]["cpu.max"] == "25000 100000"


def test_a_new_pod_is_not_told_to_be_resized(tmp_path: Path) -> None:
    """ResizeCompleted, and every other word about resizes, is for pods that were resized."""

    async def story() -> list[str]:
        async with world(tmp_path) as there:
            await settled(there, resources=LEVEL)
            await asyncio.sleep(30)
            return [each["reason"] for each in await there.cluster.events() if "Resize" in each["reason"]]

    assert run(story()) == []
