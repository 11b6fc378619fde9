"""An agent that dies after any of its deeds is followed by one that brings the node to the same end."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace
from tests.engine.agent.resizing import rig
from tests.engine.agent.world import World, amounts, is_ready, pod, world

from flexlet.api.units import GIB, MIB
from flexlet.testing import NodeOptions, idle, run
from flexlet.testing.host import SimHost

Json = dict[str, Any]

B: Final = amounts("500m,2Gi", "1,4Gi")
HELD: Final = amounts("500m,2Gi", "500m,2Gi")
G2: Final = amounts("2,64Mi", "2,64Mi")
USED: Final = 1200 * MIB
"""By each of the large ones: three of them fit into 4Gi, but not into what all pods may have of it."""
SMALL: Final = amounts("100m,64Mi", "200m,128Mi")


class Story:
    """A node, who is on it, and what happens to its machine."""

    def __init__(
        self,
        act: Callable[[SimHost], None],
        pods: dict[str, Json],
        stays: str,
        options: Callable[[], NodeOptions] = rig.machine,
    ) -> None:
        self.act = act
        self.pods = pods
        self.stays = frozenset(stays.split())
        """Names of those who are there in the end as if nothing had happened."""
        self.options = options


def grow(host: SimHost) -> None:
    host.plug_cpus(4)
    host.plug_memory(8 * GIB)


def shrink(host: SimHost) -> None:
    host.unplug_memory(4 * GIB)


def both(host: SimHost) -> None:
    """CPUs, swap and huge pages come while memory goes."""
    host.plug_cpus(4)
    host.unplug_memory(4 * GIB)
    host.swapon(4 * GIB)
    host.set_hugepages(2 * MIB, 64)


def lose_cpus(host: SimHost) -> None:
    """Two pods lose CPUs of their own; there is a replacement for one of them."""
    host.unplug_cpus([1, 3, 4])


def lose_others(host: SimHost) -> None:
    """The most important pod loses both of its own, and there is no spare one."""
    host.unplug_cpus([1, 2, 7])


def pods(**more: Json) -> dict[str, Json]:
    """In the order of their creation."""
    return {name: {"containers": {"a": SMALL}} | fields for name, fields in more.items()}


CROWD: Final = pods(
    b={"containers": {"a": B}, "priority": 1000},
    late={"containers": {"a": B}},
    later={"containers": {"a": B}},
    small={},
    nothing={"containers": {"a": {}}},
)
STORIES: Final = {
    "plug": Story(grow, pods(b={"containers": {"a": B, "c": SMALL}}, small={}), "b small"),
    "unplug": Story(shrink, CROWD, "b small nothing"),
    "both": Story(both, CROWD, "b small nothing"),
    "balloon": Story(
        shrink,
        pods(b={"containers": {"a": B}}, balloon={"containers": {"a": HELD}} | rig.BALLOON),
        "b balloon",
    ),
    "own CPUs": Story(
        lose_cpus,
        pods(one={"containers": {"a": G2}}, two={"containers": {"a": G2}}, small={}),
        "one small",
        lambda: rig.machine("0-6", config=rig.STATIC),
    ),
    "own CPUs, tolerant": Story(
        lose_others,
        pods(
            first={"containers": {"a": G2}, "priority": 5},
            one={"containers": {"a": G2}},
            two={"containers": {"a": G2}},
            small={},
        ),
        "first one small",
        lambda: rig.machine("0-7", config=rig.STATIC, resize=replace(rig.BOTH, cpu="Tolerate")),
    ),
}


async def lived(directory: Path, story: Story, dies_after: int | None) -> tuple[Json, tuple[str, str] | None]:
    """One life of a node; what is left in the end, and after which deed its agent died."""
    async with world(directory, story.options()) as there:
        uids = await _inhabit(there, story)
        before = {name: rig.containers(there, uids[name]) for name in story.stays}
        line = there.node.line
        line.dies_after = dies_after
        assert there.node.options.hardware is not None
        story.act(there.node.options.hardware)
        died = await _dies(there)
        await rig.rested(there)
        await asyncio.sleep(5)
        await idle()
        after = {name: rig.containers(there, uids[name]) for name in story.stays}
        assert after == before, f"containers were exchanged: {before}, {after}"
        return await rig.picture(there, uids), died


async def _inhabit(there: World, story: Story) -> dict[str, str]:
    manifest = {"apiVersion": "v1", "kind": "Pod"} | pod("static", {"a": SMALL})
    there.node.manifests.write("/m/static.yaml", manifest)
    there.let_through("Priority")
    uids = {}
    for name, fields in story.pods.items():
        uids[name] = await there.create(name, **fields)
        await there.until(name, is_ready)
        use(there, uids[name], USED if fields["containers"]["a"] == B else 0)
        await asyncio.sleep(1)
    await idle()
    return uids


def use(there: World, uid: str, size: int) -> None:
    """Let a pod use so much memory."""
    for each in there.node.containers(uid).values():
        there.node.sim.kernel.machine.processes[each.pid].anon = size


async def _dies(there: World) -> tuple[str, str] | None:
    """Wait until the agent is dead, or done, and start another."""
    line = there.node.line
    death = asyncio.ensure_future(line.died.wait())
    rest = asyncio.ensure_future(rig.rested(there))
    await asyncio.wait({death, rest}, return_when=asyncio.FIRST_COMPLETED)
    if not line.died.is_set():
        line.dies_after = None
        death.cancel()
        return None
    rest.cancel()
    await there.node.restart()
    await asyncio.sleep(1)
    return line.calls[-1]


def every_death(directory: Path, story: Story) -> tuple[Json, dict[str, Json], int]:
    """What comes of the story in peace, and of every one with a death that ended otherwise."""
    expected, _ = run(lived(directory / "0", story, None))
    others: dict[str, Json] = {}
    number = 0
    while True:
        number += 1
        found, died = run(lived(directory / str(number), story, number))
        if died is None:
            return expected, others, number
        if found != expected:
            others[f"{number} {'.'.join(died)}"] = found


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_death_after_any_deed_changes_nothing_in_the_end(name: str, tmp_path: Path) -> None:
    """Same size, same books, same cgroups and same pods, and nobody who stays has noticed."""
    expected, others, deaths = every_death(tmp_path, STORIES[name])
    assert others == {}
    assert deaths > 5
    phases = {each: found["status"]["phase"] for each, found in expected["pods"].items()}
    assert {each for each, phase in phases.items() if phase == "Running"} == STORIES[name].stays
