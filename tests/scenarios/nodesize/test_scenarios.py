"""The scenarios of balloon.md §12 on the embedded API server and a hollow node."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.nodesize.world import World, world

from flexlet.api.units import GIB
from flexlet.core.nodesize import manifest, names
from flexlet.testing.simtime import run

Json = dict[str, Any]
SCENARIOS: list[Json] = yaml.safe_load((Path(__file__).parent / "scenarios.yaml").read_text())


def amounts(pair: list[float]) -> Json:
    """A pair as a resource list."""
    return {"cpu": f"{round(pair[0] * 1000)}m", "memory": str(int(pair[1] * GIB))}


def spec_of(step: Json) -> Json:
    """The spec of a NodeSize that a step asks for."""
    spec: Json = {"target": {kind: amounts(pair) for kind, pair in step["target"].items()}}
    if "onInsufficient" in step:
        spec["onInsufficient"] = step["onInsufficient"]
    if "deadline" in step:
        spec["deadlineSeconds"] = step["deadline"]
    return spec


async def take(stage: World, step: Json) -> None:
    """One step of a story."""
    if "sleep-node" in step:
        await stage.sleep_node()
    if "kill" in step:
        await stage.kill_controller()
    if "target" in step:
        await stage.apply(spec_of(step))
    for name, pair in step.get("add", {}).items():
        await stage.add(name, *pair)
    if "remove" in step:
        await stage.remove(step["remove"])
    if "remove-balloon" in step:
        await stage.remove(manifest.name_of("n1"), names.NAMESPACE)
    if "machine" in step:
        await stage.plug(*step["machine"])
    if "stray" in step:
        await stage.stray(*step["stray"])
    if "wake-node" in step:
        stage.wake_node()
    if "start" in step:
        stage.start_controller()
    await stage.settle(step.get("wait", 3))


async def seen(stage: World, wanted: Json) -> Json:
    """What there is to see, in the words of what is wanted."""
    figures = await stage.figures()
    condition = await stage.condition("Insufficient")
    status = await stage.status()
    pods = await stage.pods()
    found: Json = {
        "balloon": list(figures["balloon"]),
        "insufficient": condition.get("reason") if condition.get("status") == "True" else None,
        "result": status.get("lastResize", {}).get("result"),
        "end": {key: list(pair) for key, pair in figures.items()},
        "missing": {r["resource"]: r["missing"] for r in status["progress"] if r.get("missing", "0") != "0"},
        "taints": await stage.taints(),
        "phases": {p["metadata"]["name"]: p["status"]["phase"] for p in pods if p["metadata"]["name"] in "ab"},
        "balloons": len(await stage.balloons()),
    }
    return {key: found[key] for key in wanted if key in found}


async def story(scenario: Json) -> None:
    async with world() as stage:
        start = scenario["start"]
        for name, pair in start["pods"].items():
            await stage.add(name, *pair)
        stage.start_controller()
        await stage.apply({"target": {"balloon": amounts(start["balloon"])}, "onInsufficient": "Fail"})
        await stage.settle(3)
        assert (await stage.figures())["balloon"] == tuple(start["balloon"])
        told = len(await stage.events())
        for step in scenario["steps"]:
            await take(stage, step)
            if "then" in step:
                assert await seen(stage, step["then"]) == step["then"]
        wanted = {"insufficient": None, "balloons": 1, **scenario}
        assert await seen(stage, wanted) == {key: wanted[key] for key in await seen(stage, wanted)}
        reasons = [reason for reason, _ in (await stage.events())[told:]]
        assert list(dict.fromkeys(reasons)) == scenario["events"]
        assert [p for p in await stage.pods() if p["status"].get("reason") == "Preempting"] == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s['number']}-{s['rule'].replace(' ', '-')}")
def test_scenario(scenario: Json) -> None:
    run(story(scenario))
