"""Shrinks of a real machine that do not last: what goes offline and comes back evicts nobody."""

import asyncio

import pytest
from tests.vm import plugging
from tests.vm.amounts import resources
from tests.vm.node import NAME, Hands, Node, Object, container, lives
from tests.vm.plugging import MORE, follows, look, resizing, shown

from flexlet.engine.lab.sizing import Wish
from flexlet.ports.cluster import NODES

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]
CPUS, MEMORY = Wish(cpus=MORE.cpus), Wish(memory=MORE.memory)
BLOCKS = "cd /sys/devices/system/memory && ls -d memory[0-9]*"
LEAVING = 6
"""Of the eight blocks that were plugged: without these the pod has no room."""
CPU = "/sys/devices/system/cpu/cpu3/online"
FLIPS = f"for i in $(seq 20); do for s in 0 1; do echo $s > {CPU}; sleep 0.3; done; done"
QUIET_S = 35.0
"""Longer than the quiet period of a node, after which it would evict."""


async def test_memory_that_comes_back_evicts_nobody(node: Node, hands: Hands) -> None:
    """As an unplug that the guest refuses in the end: block after block goes offline, and all return."""
    before = set((await hands.inside(BLOCKS)).split())
    large = await plugging.grown(hands, node.vm, MEMORY)
    blocks = sorted(set((await hands.inside(BLOCKS)).split()) - before)[:LEAVING]
    wide = await hands.start("wide", container(resources=resources("50m,2200Mi")))
    for block in blocks:
        await hands.inside(f"echo offline > /sys/devices/system/memory/{block}/state")
    waiting = await hands.until("it waits", NAME, lambda found: resizing(found)[1] == "InProgress", NODES)
    await hands.until("it names the pod", NAME, lambda found: "default/wide" in _message(found), NODES)
    assert waiting["status"]["capacity"]["memory"] != f"{large.memory // 1024}Ki"
    for block in blocks:
        await hands.inside(f"echo online_movable > /sys/devices/system/memory/{block}/state")
    await _stays(hands, wide)
    assert (await look(hands), await shown(hands)) == (large, follows(large))
    await hands.delete("wide")
    await plugging.shrunk(hands, node.vm, MEMORY)


async def test_a_cpu_that_flaps_evicts_nobody(node: Node, hands: Hands) -> None:
    """Twenty times offline and online, below a Guaranteed pod that needs every CPU."""
    large = await plugging.grown(hands, node.vm, CPUS)
    fast = await hands.start("fast", container(resources=resources("3200m,32Mi / 3200m,32Mi")))
    await hands.inside(FLIPS)
    await _stays(hands, fast)
    assert (await look(hands), await shown(hands)) == (large, follows(large))
    await hands.delete("fast")
    await plugging.shrunk(hands, node.vm, CPUS)


async def _stays(hands: Hands, pod: Object) -> None:
    """It runs on as it was, and longer than a shortage has to last; the node is at rest again."""
    await hands.until("it is stable", NAME, lambda found: resizing(found) == ("False", "Stable"), NODES)
    await asyncio.sleep(QUIET_S)
    now = await hands.get(pod["metadata"]["name"])
    assert (now["status"]["phase"], lives(now)) == ("Running", lives(pod))


def _message(node: Object) -> str:
    found = [each for each in node["status"]["conditions"] if each["type"] == "NodeResize"]
    return str(found[0]["message"]) if found else ""
