"""All cases of a table at once, on one large node: every pod goes to its other size and back."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.engine.agent.world import World, is_ready, is_resized, world
from tests.scenarios.agent_resize.e2e.cases import Case, Sizes
from tests.scenarios.agent_resize.stage import written

from flexlet.testing import NodeOptions
from flexlet.testing.host import GIB

Json = dict[str, Any]

LARGE: Final = NodeOptions(cpus="0-63", memory=64 * GIB, config={"maxPods": 500})


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A pod at one moment."""

    sizes: Sizes
    status: Json
    cgroups: Json


async def trip(cases: Iterable[Case], directory: Path, *, back: bool = True) -> dict[str, list[Seen]]:
    """What was seen of each pod before, after the change, and after the way back."""
    table = {f"p{number}": case for number, case in enumerate(cases)}
    found: dict[str, list[Seen]] = {}
    async with world(directory, LARGE) as there:
        uids = {name: await there.create(name, **case.pod()) for name, case in table.items()}
        await _look(there, table, uids, found, {name: case.before for name, case in table.items()})
        await _resize(there, {name: case.after for name, case in table.items()})
        await _look(there, table, uids, found, {name: case.whole(case.after) for name, case in table.items()})
        if back:
            homeward = {name: {key: case.before[key] for key in case.after} for name, case in table.items()}
            await _resize(there, homeward)
            await _look(there, table, uids, found, {name: case.before for name, case in table.items()})
    return found


async def _resize(there: World, wishes: dict[str, Sizes]) -> None:
    await asyncio.gather(*(there.cluster.resize(name, patch(wish)) for name, wish in wishes.items()))


def patch(wish: Sizes) -> Json:
    """The change of some sizes."""
    spec: Json = {}
    for name, text in wish.items():
        if name == "level":
            spec["resources"] = written(text)
        else:
            kind = "initContainers" if name == "s" else "containers"
            spec.setdefault(kind, []).append({"name": name, "resources": written(text)})
    return {"spec": spec}


async def _look(
    there: World,
    table: dict[str, Case],
    uids: dict[str, str],
    found: dict[str, list[Seen]],
    sizes: dict[str, Sizes],
) -> None:
    for name, case in table.items():
        pod = await there.until(name, is_resized if found.get(case.name) else is_ready)
        seen = Seen(sizes=sizes[name], status=pod["status"], cgroups=there.node.pod_cgroups(uids[name]))
        found.setdefault(case.name, []).append(seen)
