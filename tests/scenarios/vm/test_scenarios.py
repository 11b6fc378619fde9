"""The scenarios of vm-resize.md §12 and the failures of §5.1 with their figures, on a simulated world."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.vm.world import VM, World, in_mib, machine, spec, world

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.core.vm.settings import Settings
from flexlet.testing.simtime import run

Json = dict[str, Any]
START = "400m/8520Mi"
PODS_GIB = {4: 8520 / 1024, 8: 8552 / 1024}
"""What the pod takes at the start."""
SCENARIOS: list[Json] = [
    scenario
    for name in ("scenarios.yaml", "failures.yaml")
    for scenario in yaml.safe_load((Path(__file__).parent / name).read_text())
]


async def take(stage: World, step: Json) -> None:
    """One step of a story."""
    if "temper" in step:
        for key, value in step["temper"].items():
            setattr(stage.temper(), key, set(value) if isinstance(value, list) else _amount(value))
    if "sleep-node" in step:
        await stage.sleep_node()
    if "kill" in step:
        await stage.kill_controller()
    if "resize" in step:
        await stage.resize(VM, **step["resize"])
    if "spec" in step:
        await stage.apply(step["spec"])
    for name, gib in step.get("add", {}).items():
        await stage.add(name, gib)
    if "remove" in step:
        await stage.remove(step["remove"])
    if "quota" in step:
        await stage.quota(step["quota"])
    if "limit-range" in step:
        await stage.limit_range(step["limit-range"])
    stage.api.errors += step.get("errors", 0)
    if "node-says" in step:
        await stage.node_says(**step["node-says"])
    if "reset" in step:
        stage.reset()
    if "crash" in step:
        await stage.crash(exit_code=step["crash"])
    if "cut" in step:
        stage.cut(restarted=step["cut"] == "restarted")
    if "wake-node" in step:
        stage.wake_node()
    if "start" in step:
        stage.start_controller()
    await stage.settle(step.get("wait", 30))


def _amount(value: Any) -> Any:
    return Quantity.parse(value).value if isinstance(value, str) else value


async def seen(stage: World, wanted: Json) -> Json:
    """What there is to see, in the words of what is wanted."""
    found = {key: await FINDERS[key](stage, wanted[key]) for key in wanted if key in FINDERS}
    assert found, f"nothing to look for in {wanted}"
    return found


async def _guest(stage: World, _: Any) -> str:
    guest = stage.guest()
    return f"{guest.vcpus}v/{guest.memory / GIB:g}Gi"


async def _elastic(stage: World, _: Any) -> str:
    return f"{stage.guest().ram.asked / GIB:g}Gi"


async def _pod(stage: World, _: Any) -> str:
    held = (await stage.pod())["status"]["containerStatuses"][0]["allocatedResources"]
    return f"{held['cpu']}/{in_mib(held['memory'])}"


async def _asked(stage: World, _: Any) -> list[str]:
    return stage.eyes.sizes[VM][1:]


async def _phase(stage: World, _: Any) -> str:
    return str((await stage.status()).get("resize", {}).get("phase", "Idle"))


async def _message(stage: World, _: Any) -> str:
    return str((await stage.status()).get("resize", {}).get("message", ""))


async def _direction(stage: World, _: Any) -> str:
    return str((await stage.status()).get("resize", {}).get("direction", ""))


async def _conditions(stage: World, wanted: Json) -> Json:
    found = await stage.conditions()
    return {
        kind: [found.get(kind, {}).get(key) for key in ("status", "reason", "message")][: len(wanted[kind])]
        for kind in wanted
    }


async def _events(stage: World, _: Any) -> list[str]:
    return list(dict.fromkeys(reason for reason, _ in await stage.events()))


async def _pods(stage: World, _: Any) -> int:
    return len(stage.eyes.restarts[VM])


async def _overhead(stage: World, _: Any) -> str:
    return str((await stage.status())["memory"]["memoryOverhead"])


FINDERS = {
    "guest": _guest,
    "elastic": _elastic,
    "pod": _pod,
    "asked": _asked,
    "phase": _phase,
    "message": _message,
    "direction": _direction,
    "conditions": _conditions,
    "events": _events,
    "pods": _pods,
    "overhead": _overhead,
}


async def story(scenario: Json) -> None:
    size, free = scenario.get("node", 40), Quantity.parse(scenario["free"]).value / GIB
    async with world(machine(size), Settings(**scenario.get("settings", {}))) as stage:
        others = size - free - PODS_GIB[scenario.get("vm", {}).get("vcpus", 4)]
        await stage.add("neighbours", others, namespace="kube-system")
        stage.start_controller()
        await stage.apply(spec(**scenario.get("vm", {})))
        await stage.settle(5)
        if "vm" not in scenario:
            assert await seen(stage, {"guest": "", "pod": ""}) == {"guest": "4v/8Gi", "pod": START}
        for step in scenario["steps"]:
            await take(stage, step)
            if "then" in step:
                assert await seen(stage, step["then"]) == step["then"]
        assert await seen(stage, scenario["end"]) == scenario["end"]
        assert stage.eyes.faults == []
        assert "flexlet_vm_invariant_violations_total 0\n" in stage.metrics()
        assert f"flexlet_vm_resize_oom_total {scenario.get('oom', 0)}\n" in stage.metrics()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: f"{s['number']}-{s['rule'].replace(' ', '-')}")
def test_scenario(scenario: Json) -> None:
    run(story(scenario))
