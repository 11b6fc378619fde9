"""A pod is evicted for a shortage that lasts, and for no other."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.resizing import rig
from tests.engine.agent.resizing.shrinks import (
    BIG,
    DIMM,
    OWN,
    QUIET_S,
    comes_back,
    counts,
    events,
    leaves,
    passes,
    phase,
    settings,
    stories,
)
from tests.engine.agent.world import is_ready, world

from flexlet.adapters.sim.hardware import BLOCK
from flexlet.api.units import GIB, MIB
from flexlet.core.hotplug.saved import told
from flexlet.testing import run
from flexlet.testing.host import SimHost


def test_a_refused_unplug_ends_nobody(tmp_path: Path) -> None:
    """Blocks go offline one by one, the DIMM stays all the same, and 20 seconds later they are back."""

    async def play() -> None:
        async with world(tmp_path, rig.machine()) as there:
            await there.create("big", {"a": BIG})
            await there.until("big", is_ready)
            gone = await leaves(there, 1.0)
            await passes(20 - DIMM)
            shown = await rig.node(there)
            assert shown["status"]["capacity"]["memory"] == "7Gi", "the size is told at once"
            await comes_back(there, gone)
            await passes(2 * QUIET_S)
            assert is_ready(await there.get("big"))
            assert (await rig.node(there))["status"]["capacity"]["memory"] == "8Gi"
            assert rig.condition(await rig.rested(there))["reason"] == "Stable"
            assert [told(each)[1:] for each in stories(there)] == [("  the machine has again what it had before",)]
            text = "capacity is again what it was before generation 2"
            assert await events(there, "NodeResized", "NodeResizeReverted", "NodeCapacityExceeded") == [text]
            assert counts(there) == {
                "node_resize_resync_request_total": 1,
                "node_hot_unplug_request_total": 1,
            }

    run(play())


def test_a_cpu_that_flips_ends_nobody(tmp_path: Path) -> None:
    """Twenty times off and on within ten seconds, and then it is there for good."""

    async def play() -> None:
        async with world(tmp_path, rig.machine("0-1", config=rig.STATIC)) as there:
            uid = await there.create("own", {"a": OWN})
            await there.until("own", is_ready)
            for _ in range(20):
                there.node.host.sleep(1)
                await passes(0.4)
                there.node.host.wake(1)
                await passes(0.1)
            await passes(2 * QUIET_S)
            assert is_ready(await there.get("own"))
            assert rig.books(there)["cpu_manager_state"]["entries"] == {uid: {"a": "1"}}
            await rig.rested(there)

    run(play())


def test_a_pod_is_evicted_for_a_shortage_that_lasts(tmp_path: Path) -> None:
    """One DIMM in blocks: one generation, one event, one count; the pod has half a minute after the last block."""

    async def play() -> None:
        async with world(tmp_path, rig.machine()) as there:
            await there.create("big", {"a": BIG})
            await there.until("big", is_ready)
            gone = await leaves(there, 1.0)
            there.node.host.unplug_blocks(gone)
            await passes(QUIET_S - 2)
            shown = rig.condition(await rig.node(there))
            size = "capacity changed: memory 8Gi→7Gi (generation 2)"
            text = f"{size}; no room for default/big, evicted if that lasts for 30 s"
            assert (shown["reason"], shown["message"]) == ("InProgress", text)
            assert is_ready(await there.get("big"))
            await passes(6)
            assert phase(await there.get("big")) == "Failed OutOfmemory"
            await rig.rested(there)
            (story,) = stories(there)
            assert [(each.name, each.capacity) for each in story.victims] == [("big", 7 * GIB - 1124 * MIB)]
            assert await events(there, "NodeResized") == ["capacity changed: memory 8Gi→7Gi (generation 2)"]
            assert await events(there, "NodeCapacityExceeded") == [
                "the node has 6044Mi of memory for pods and had 7068Mi (generation 2)"
            ]
            assert counts(there) == {
                "node_resize_resync_request_total": 1,
                "node_hot_unplug_request_total": 1,
                "kubelet_node_resize_requests_total memory decrease": 1,
                "flexlet_unplug_victims_total OutOfmemory": 1,
            }

    run(play())


@pytest.mark.parametrize(
    ("evict", "after_s", "expected"), [("immediate", 3, "Failed OutOfmemory"), ("never", 600, "Running")]
)
def test_who_wants_it_otherwise_says_so(evict: Any, after_s: float, expected: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with world(tmp_path, rig.machine(resize=settings(evict=evict))) as there:
            await there.create("big", {"a": BIG})
            await there.until("big", is_ready)
            there.node.host.unplug_memory(GIB)
            await passes(after_s)
            assert phase(await there.get("big")) == expected
            found = await rig.rested(there)
            reason = {"immediate": "Stable", "never": "PodsOverCapacity"}[evict]
            assert rig.condition(found)["reason"] == reason
            if evict == "never":
                there.node.host.plug_memory(GIB)
                await passes(30)
                assert rig.condition(await rig.rested(there))["reason"] == "Stable"

    run(play())


def test_nobody_is_evicted_while_memory_is_going_offline(tmp_path: Path) -> None:
    """A block that takes minutes to go offline may still come back."""

    async def play() -> None:
        async with world(tmp_path, rig.machine()) as there:
            await there.create("big", {"a": BIG})
            await there.until("big", is_ready)
            slow = min(there.node.host.blocks)
            there.node.host.blocks[slow] = "going-offline"
            gone = await leaves(there, 0.1)
            await passes(4 * QUIET_S)
            assert is_ready(await there.get("big"))
            there.node.host.blocks[slow] = "online"
            await passes(QUIET_S - 5)
            assert is_ready(await there.get("big"))
            await passes(10)
            assert phase(await there.get("big")) == "Failed OutOfmemory"
            assert len(gone) == DIMM

    run(play())


def test_a_plug_in_blocks_is_one_generation(tmp_path: Path) -> None:
    """CPUs and memory that come one after the other, as from a hypervisor."""

    async def play() -> None:
        async with world(tmp_path, rig.machine()) as there:
            for cpu in (4, 5):
                there.node.host.plug_cpus([cpu])
                await passes(1.5)
            for _ in range(DIMM):
                there.node.host.plug_memory(BLOCK)
                await passes(1.0)
            await passes(5)
            await rig.rested(there)
            assert await events(there, "NodeResized") == [
                "capacity changed: cpu 4→6, memory 8Gi→9Gi (generation 2)"
            ]
            assert len(stories(there)) == 1
            assert counts(there) == {
                "node_resize_resync_request_total": 1,
                "kubelet_node_resize_requests_total cpu increase": 1,
                "kubelet_node_resize_requests_total memory increase": 1,
            }
            for cpu in (5, 4):
                there.node.host.unplug_cpus([cpu])
                await passes(1.0)
            there.node.host.unplug_blocks(await leaves(there, 1.0))
            await passes(5)
            await rig.rested(there)
            assert (await events(there, "NodeResized"))[1:] == [
                "capacity changed: cpu 6→4, memory 9Gi→8Gi (generation 3)"
            ]
            assert counts(there) == {
                "node_resize_resync_request_total": 2,
                "node_hot_unplug_request_total": 1,
                "kubelet_node_resize_requests_total cpu increase": 1,
                "kubelet_node_resize_requests_total memory increase": 1,
                "kubelet_node_resize_requests_total cpu decrease": 1,
                "kubelet_node_resize_requests_total memory decrease": 1,
            }

    run(play())


@pytest.mark.parametrize("when", ["before the restart", "while no agent runs"])
def test_what_an_administrator_took_offline_stays_so_after_a_restart(when: str, tmp_path: Path) -> None:
    """Though this node brings parts online that are plugged; another boot begins anew."""

    async def play() -> None:
        host = SimHost("0-3", 8 * GIB, udev=())
        options = rig.machine(resize=settings(online_policy="all"), hardware=host)
        async with world(tmp_path, options) as there:
            await passes(5)
            if when == "before the restart":
                host.sleep(3)
                await passes(20)
            await there.node.kill()
            if when == "while no agent runs":
                host.sleep(3)
                host.plug_cpus([4])
            await there.node.start()
            await passes(20)
            expected = "0-2" if when == "before the restart" else "0-2,4"
            assert host.cpus == expected
            host.wake(3)
            await passes(20)
            await rig.rested(there)
            assert 3 in host.awake

    run(play())
