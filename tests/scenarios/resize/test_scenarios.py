"""Every edge case that is the node's as a story: what is given, what happens, what follows.

Amounts are written ``requests / limits``, each as ``cpu,memory``. Of what follows a step only the named keys are
compared, each of them whole; calls and events are those of the step.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from tests.core.resize.node import SimNode
from tests.pods import amounts

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Container, Pod, PodSpec, ResizePolicy, ResourceRequirements
from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.gates import switch
from flexlet.core.resize import allocation, conditions, triggers
from flexlet.core.resize.admit import NodeFacts
from flexlet.core.resize.infeasible import NodeRules
from flexlet.core.resize.safety import MemoryUsage

STORIES = sorted(Path(__file__).parent.glob("*.yaml"))


def requirements(text: str) -> ResourceRequirements:
    requests, _, limits = text.partition("/")
    return ResourceRequirements(requests=amounts(requests.strip()), limits=amounts(limits.strip()))


def words(resources: ResourceRequirements) -> str:
    """The same notation, from values; what is not cpu or memory carries its name."""
    both = [
        ",".join(str(side.get(name, "")) for name in ("cpu", "memory")) if side else ""
        for side in (resources.requests, resources.limits)
    ]
    return " / ".join(both).strip() if both[1] else both[0]


def container(name: str, text: str, restarts: list[str], *, sidecar: bool = False) -> Container:
    policy = tuple(ResizePolicy(resource_name=each, restart_policy="RestartContainer") for each in restarts)
    restart = "Always" if sidecar else None
    return Container(name=name, resources=requirements(text), resize_policy=policy, restart_policy=restart)


def pod(name: str, given: dict[str, Any]) -> Pod:
    restarts = given.get("restart", {})
    regular = [container(c, text, restarts.get(c, [])) for c, text in given["containers"].items()]
    sidecars = [
        container(c, text, restarts.get(c, []), sidecar=True) for c, text in given.get("sidecars", {}).items()
    ]
    plain = [container(c, text, []) for c, text in given.get("init", {}).items()]
    return Pod(
        metadata=ObjectMeta(
            name=name, namespace="default", uid=name, generation=1, labels=given.get("labels", {})
        ),
        spec=PodSpec(
            containers=tuple(regular),
            init_containers=(*plain, *sidecars),
            resources=requirements(given["level"]) if "level" in given else None,
            overhead=amounts(given.get("overhead", "")),
            priority=given.get("priority"),
        ),
    )


def resized(before: Pod, wish: dict[str, str]) -> Pod:
    """The spec after a patch: containers by name, ``level`` for the pod."""
    spec = replace(
        before.spec,
        containers=tuple(_wished(c, wish) for c in before.spec.containers),
        init_containers=tuple(_wished(c, wish) for c in before.spec.init_containers),
        resources=requirements(wish["level"]) if "level" in wish else before.spec.resources,
    )
    return replace(before, spec=spec)


def _wished(container: Container, wish: dict[str, str]) -> Container:
    if container.name not in wish:
        return container
    return replace(container, resources=requirements(wish[container.name]))


def node(given: dict[str, Any]) -> SimNode:
    rules = NodeRules(
        gates=switch(given.get("gates", {})),
        cpu_manager_policy=given.get("cpuManagerPolicy", "none"),
        memory_manager_policy=given.get("memoryManagerPolicy", "None"),
        cgroups=CgroupSettings(memory_swap_behavior=given.get("swap", "NoSwap")),
    )
    return SimNode(NodeFacts(allocatable=amounts(given.get("allocatable", "4,4Gi")), rules=rules))


def act(sim: SimNode, name: str, what: Any) -> None:
    match name:
        case "resize":
            for target, wish in what.items():
                sim.spec(target, resized(sim.pods[target], wish))
        case "resize without looking":
            for target, wish in what.items():
                sim.pods[target] = resized(sim.pods[target], wish)
        case "pods end":
            for each in what:
                sim.end(each)
        case "pods are removed":
            for each in what:
                sim.remove(each)
        case "pods are deleted":
            for each in what:
                meta = replace(sim.pods[each].metadata, deletion_timestamp="2026-01-01T00:00:00Z")
                sim.pods[each] = replace(sim.pods[each], metadata=meta)
        case "allocatable":
            sim.resize_node(amounts(what))
        case "pressure":
            sim.facts = replace(sim.facts, pressures=tuple(what))
        case "usage":
            for each, numbers in what.items():
                sim.usage[each] = MemoryUsage(numbers.get("pod"), {k: v for k, v in numbers.items() if k != "pod"})
        case "failing":
            sim.failing = what
        case "containers stop":
            for each, container_name in what.items():
                sim.stop(each, container_name)
        case "containers may start":
            sim.down.clear()
        case "the agent restarts":
            sim.restart()
        case "time passes":
            sim.now += what
            sim.evaluate(triggers.PERIODIC)
        case "sync":
            pass
        case _:
            raise AssertionError(f"unknown event {name!r}")


def seen(sim: SimNode, key: str, expected: Any) -> Any:
    """What the node shows of the things a story names."""
    match key:
        case "calls" | "events" | "texts" | "accepted" | "infeasible":
            return getattr(sim, key)
        case "conditions":
            return {name: _conditions(sim, name) for name in expected}
        case "messages":
            return {name: [c.message for c in _known(sim, name)] for name in expected}
        case "allocated":
            return {name: _resources(sim.allocated[name], expected[name]) for name in expected}
        case "status":
            return {name: _status(sim, name, expected[name]) for name in expected}
        case "waiting":
            return list(sim.waiting.queue)
        case "leaving":
            return sorted(sim.leaving)
        case _:
            raise AssertionError(f"unknown expectation {key!r}")


def _known(sim: SimNode, name: str) -> tuple[Any, ...]:
    return conditions.rendered(sim.conditions.get(name, conditions.NONE))


def _conditions(sim: SimNode, name: str) -> list[str]:
    return [
        f"{c.type.removeprefix('PodResize')}{'/' if c.reason else ''}{c.reason} @{c.observed_generation}"
        for c in _known(sim, name)
    ]


def _resources(granted: allocation.Allocation, expected: dict[str, str]) -> dict[str, str]:
    level = granted.pod or ResourceRequirements()
    return {name: words(level if name == "level" else granted.containers[name]) for name in expected}


def _status(sim: SimNode, name: str, expected: dict[str, str]) -> dict[str, str]:
    return {
        part: words(
            ResourceRequirements(requests=sim.pods[name].status.allocated_resources)
            if part == "allocatedResources"
            else sim.reported(name, "" if part == "resources" else part)
        )
        for part in expected
    }


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    story = yaml.safe_load(path.read_text(encoding="utf-8"))
    sim = node(story["given"].get("node", {}))
    for name, given in story["given"]["pods"].items():
        sim.add(pod(name, given))
    for number, step in enumerate(story["story"]):
        for record in (sim.calls, sim.events, sim.texts, sim.accepted, sim.infeasible):
            record.clear()
        for name, what in step["when"].items():
            act(sim, name, what)
        sim.sync()
        expected = step["then"]
        assert (number, {key: seen(sim, key, expected[key]) for key in expected}) == (number, expected)
