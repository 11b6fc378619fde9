"""What a node that follows its machine shows of it: metrics, the Node's status, and what others are told."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from tests.engine.agent.test_counting import values
from tests.engine.agent.world import World, is_ready, world

from flexlet.adapters.meters import Ledger
from flexlet.api.units import GIB
from flexlet.core.hotplug import metrics
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.stats import exposition
from flexlet.core.stats.declared import FAMILIES
from flexlet.engine.agent.resizing import counts
from flexlet.ports.cluster import NODES
from flexlet.testing import NodeOptions, run
from flexlet.testing.host import SimHost

Json = dict[str, Any]

BOTH = ResizeSettings(plug=True, unplug=True)
HIGH = {"requests": {"memory": "3Gi"}}


def options(**hardware: Any) -> NodeOptions:
    return NodeOptions(hardware=SimHost("0-1", 4 * GIB, **hardware), resize=BOTH, config={"failSwapOn": False})


async def node(there: World) -> Json:
    found: Json = msgspec.json.decode(await there.cluster.cluster.get(NODES, "", there.node.options.name))
    return found


def shown(there: World) -> Ledger:
    """The node's meters, with what is looked up when somebody asks."""
    assert there.node.agent is not None
    counts.show(there.node.meters, there.node.agent.detecting)
    return there.node.meters


def test_every_metric_has_its_declaration() -> None:
    declared = {family.name: (family.kind, family.labels) for family in FAMILIES.values()}
    assert {each.name: (each.kind, each.labels) for each in metrics.ALL} == {
        each.name: declared.get(each.name) for each in metrics.ALL
    }


def test_a_plug_and_an_unplug_are_counted_under_every_name(tmp_path: Path) -> None:
    async def story() -> tuple[dict[str, float], dict[str, float], str]:
        async with world(tmp_path, options()) as there:
            start = values(shown(there))
            there.node.host.plug_memory(4 * GIB)
            await asyncio.sleep(5)
            await there.create("large", {"c": HIGH})
            await there.create("more", {"c": HIGH})
            await there.until("more", is_ready)
            there.node.host.unplug_memory(4 * GIB)
            await asyncio.sleep(60)
            there.node.host.udev = set()
            there.node.host.auto_online = "offline"
            there.node.host.refuse("cpu2")
            there.node.host.plug_cpus(1)
            there.node.host.overrun()
            await asyncio.sleep(20)
            meters = shown(there)
            return start, values(meters), exposition.text(meters.families()).decode()

    start, found, text = run(story())
    assert {name: start[name] for name in start if name in START} == START
    assert {name: found[name] for name in found if name in END} == END
    silent = {each.name for each in metrics.ALL} - {
        line.split()[2] for line in text.splitlines() if "# TYPE" in line
    }
    assert silent == {"kubelet_node_resize_errors_total"}, "labelled, and nothing went wrong"


START = {
    "flexlet_node_generation{}": 1,
    "flexlet_node_half_plugged{cpu}": 0,
    "flexlet_node_half_plugged{memory}": 0,
    "flexlet_uevent_overruns_total{}": 0,
    "node_resize_resync_request_total{}": 0,
    "node_resize_resync_errors_total{}": 0,
    "node_hot_unplug_request_total{}": 0,
    "node_hot_unplug_errors_total{}": 0,
}
END = {
    "flexlet_node_generation{}": 3,
    "flexlet_node_half_plugged{cpu}": 1,
    "flexlet_node_half_plugged{memory}": 0,
    "flexlet_node_resize_duration_seconds_count{detect}": 2,
    "flexlet_node_resize_duration_seconds_count{apply}": 2,
    "flexlet_node_resize_duration_seconds_count{terminate}": 1,
    "flexlet_uevent_overruns_total{}": 1,
    "flexlet_uevents_total{memory,add}": 32,
    "flexlet_uevents_total{memory,online}": 32,
    "flexlet_uevents_total{memory,offline}": 32,
    "flexlet_uevents_total{memory,remove}": 32,
    "flexlet_uevents_total{cpu,add}": 1,
    "flexlet_unplug_victims_total{OutOfmemory}": 1,
    "kubelet_admission_rejections_total{OutOfmemory}": 1,
    "kubelet_node_resize_requests_total{memory,increase}": 1,
    "kubelet_node_resize_requests_total{memory,decrease}": 1,
    "node_resize_resync_request_total{}": 2,
    "node_resize_resync_errors_total{}": 0,
    "node_hot_unplug_request_total{}": 1,
    "node_hot_unplug_errors_total{}": 0,
}


def test_swap_that_is_gone_is_gone_from_the_node(tmp_path: Path) -> None:
    """The kubelet would leave the last size there."""

    async def story() -> list[Any]:
        async with world(tmp_path, options(swap=4 * GIB)) as there:
            seen = [(await node(there))["status"]["nodeInfo"].get("swap")]
            there.node.host.swapoff()
            await asyncio.sleep(5)
            seen.append((await node(there))["status"]["nodeInfo"].get("swap"))
            there.node.host.swapon(8 * GIB)
            await asyncio.sleep(5)
            return [*seen, (await node(there))["status"]["nodeInfo"].get("swap")]

    assert run(story()) == [{"capacity": 4 * GIB}, None, {"capacity": 8 * GIB}]


def test_a_disk_that_grows_is_seen(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with world(tmp_path, options()) as there:
            before = (await node(there))["status"]["capacity"]["ephemeral-storage"]
            there.node.host.storage += GIB
            await asyncio.sleep(15)
            after = (await node(there))["status"]["capacity"]["ephemeral-storage"]
            return [before, after]

    assert run(story()) == ["20Gi", "21Gi"]
