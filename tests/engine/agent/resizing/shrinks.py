"""Memory that leaves in blocks, and what is told of it."""

import asyncio
from typing import Any

import msgspec
from tests.engine.agent.resizing import rig
from tests.engine.agent.world import World, amounts

from flexlet.core.hotplug import metrics
from flexlet.core.hotplug.saved import Story
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.testing import idle

Json = dict[str, Any]

BIG = amounts("500m,6Gi", ",7Gi")
OWN = amounts("1,256Mi", "1,256Mi")
QUIET_S = 30.0
DIMM = 8
"""Blocks of one GiB."""


def settings(**more: Any) -> ResizeSettings:
    return msgspec.structs.replace(ResizeSettings(plug=True, unplug=True), **more)


async def passes(seconds: float) -> None:
    await asyncio.sleep(seconds)
    await idle()


def phase(pod: Json | None) -> str:
    assert pod is not None
    return f"{pod['status']['phase']} {pod['status'].get('reason', '')}".strip()


async def leaves(there: World, pause_s: float, count: int = DIMM) -> list[int]:
    """Blocks of a DIMM go offline one by one; they are still in the machine."""
    blocks = sorted(there.node.host.blocks)[-count:]
    for block in blocks:
        there.node.host.empty(block)
        await passes(pause_s)
    return blocks


async def comes_back(there: World, blocks: list[int], pause_s: float = 0.2) -> None:
    for block in blocks:
        there.node.host.fill(block, "online")
        await passes(pause_s)


def stories(there: World) -> tuple[Story, ...]:
    kept = rig.generations(there)
    assert kept is not None
    return kept.stories


async def events(there: World, *reasons: str) -> list[str]:
    return [each["message"] for each in await there.cluster.events() if each["reason"] in reasons]


def counts(there: World) -> dict[str, float]:
    """What was counted of sizes, by metric and labels."""
    wanted = {each.name for each in (metrics.RESYNCS, metrics.UNPLUGS, metrics.REQUESTS, metrics.VICTIMS)}
    return {
        " ".join((family.name, *(value for _, value in sample.labels))): sample.value
        for family in there.node.meters.families()
        if family.name in wanted
        for sample in family.samples
        if sample.value
    }
