"""Pods with a size of their own in every shape: class, defaults, cgroups, what containers inherit."""

from pathlib import Path
from typing import Any

import msgspec
from tests.engine.agent.world import is_ready, world
from tests.scenarios.agent_resize.e2e import promises
from tests.scenarios.agent_resize.e2e.bench import LARGE, Seen
from tests.scenarios.agent_resize.e2e.cases import Case, Sizes, both
from tests.scenarios.agent_resize.stage import words

from flexlet.testing import run

Json = dict[str, Any]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, its class, and its own size after defaulting where that is another."""

    sizes: Sizes
    qos: str
    level: str = ""


SHAPES = {
    "pod and containers, all equal": Shape(
        sizes={"level": both("200m,128Mi"), "c": both("100m,64Mi")}, qos="Guaranteed"
    ),
    "pod equal, containers nothing": Shape(
        sizes={"level": both("200m,128Mi"), "c": "", "d": ""}, qos="Guaranteed"
    ),
    "pod equal, one container burstable": Shape(
        sizes={"level": both("200m,128Mi"), "c": "50m,32Mi / 100m,64Mi", "d": ""}, qos="Guaranteed"
    ),
    "pod limits only, containers nothing": Shape(
        sizes={"level": " / 200m,128Mi", "c": ""}, qos="Guaranteed", level=both("200m,128Mi")
    ),
    "no pod size, containers equal": Shape(
        sizes={"c": both("100m,64Mi"), "d": both("50m,32Mi")}, qos="Guaranteed"
    ),
    "pod requests and limits": Shape(sizes={"level": "100m,64Mi / 200m,128Mi", "c": ""}, qos="Burstable"),
    "pod requests only": Shape(sizes={"level": "100m,64Mi", "c": "", "d": ""}, qos="Burstable"),
    "pod requests only, one container limited": Shape(
        sizes={"level": "200m,128Mi", "c": "50m,32Mi / 100m,64Mi", "d": ""}, qos="Burstable"
    ),
    "pod limits only, containers request": Shape(
        sizes={"level": " / 200m,128Mi", "c": "50m,32Mi", "d": "50m,32Mi"},
        qos="Burstable",
        level="100m,64Mi / 200m,128Mi",
    ),
    "pod limits only, one container requests": Shape(
        sizes={"level": " / 200m,128Mi", "c": "50m,32Mi", "d": ""}, qos="Burstable", level="50m,32Mi / 200m,128Mi"
    ),
    "pod cpu only": Shape(sizes={"level": "100m, / 200m,", "c": ""}, qos="Burstable"),
    "pod memory only": Shape(sizes={"level": ",64Mi / ,128Mi", "c": ""}, qos="Burstable"),
    "pod and containers, burstable": Shape(
        sizes={"level": "200m,128Mi / 400m,256Mi", "c": "50m,32Mi / 100m,64Mi", "d": "50m,32Mi"}, qos="Burstable"
    ),
    "pod burstable, containers equal": Shape(
        sizes={"level": "200m,128Mi / 400m,256Mi", "c": both("100m,64Mi"), "d": both("50m,32Mi")}, qos="Burstable"
    ),
    "pod with a sidecar": Shape(sizes={"level": "200m,128Mi / 400m,256Mi", "c": "", "s": ""}, qos="Burstable"),
    "pod with a sidecar of its own size": Shape(
        sizes={"level": "200m,128Mi / 400m,256Mi", "c": "", "s": "50m,32Mi / 100m,64Mi"}, qos="Burstable"
    ),
    "no pod size, containers burstable": Shape(
        sizes={"c": "50m,32Mi / 100m,64Mi", "d": "50m,32Mi / 100m,64Mi"}, qos="Burstable"
    ),
    "no pod size, one container unlimited": Shape(
        sizes={"c": "50m,32Mi / 100m,64Mi", "d": "50m,32Mi"}, qos="Burstable"
    ),
    "no pod size, one container nothing": Shape(sizes={"c": "50m,32Mi / 100m,64Mi", "d": ""}, qos="Burstable"),
    "nothing": Shape(sizes={"c": "", "d": ""}, qos="BestEffort"),
}


async def lived(directory: Path) -> dict[str, tuple[Json, Seen]]:
    """All of them on one node."""
    found = {}
    async with world(directory, LARGE) as there:
        for number, (name, shape) in enumerate(SHAPES.items()):
            case = Case(name=name, before=shape.sizes, after={})
            uid = await there.create(f"p{number}", **case.pod())
            pod = await there.until(f"p{number}", is_ready)
            sizes = shape.sizes | ({"level": shape.level} if shape.level else {})
            found[name] = (pod, Seen(sizes=sizes, status=pod["status"], cgroups=there.node.pod_cgroups(uid)))
    return found


def promised(shape: Shape, seen: Seen) -> tuple[Any, ...]:
    """Class, size and cgroup files that a shape stands for."""
    return shape.qos, seen.sizes.get("level", "").strip(), promises.promised(seen)[1]


def kept(pod: Json, seen: Seen) -> tuple[Any, ...]:
    """The same as it was found."""
    return pod["status"]["qosClass"], words(pod["spec"].get("resources", {})), promises.kept(seen)[1]


def test_a_pod_has_the_size_that_it_asks_for(tmp_path: Path) -> None:
    """Its class, its defaults and its cgroups follow from what was written, and what is missing is inherited."""
    found = run(lived(tmp_path))
    expected = {name: promised(SHAPES[name], seen) for name, (_, seen) in found.items()}
    assert {name: kept(*each) for name, each in found.items()} == expected
