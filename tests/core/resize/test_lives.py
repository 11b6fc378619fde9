"""Recorded resizes of a real kubelet 1.36.3 (runc 1.1, cgroup v2): the same specs lead to the same values.

Two differences are meant: a container without a cpu request keeps its weight (upstream drops it to 1), and the
pod's cgroup follows a finished init container that was resized.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.core.resize.node import SimNode
from tests.pods import amounts

from flexlet.api import decode
from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Container, Pod, PodSpec, ResourceRequirements
from flexlet.core.cgroups import containers, cpu
from flexlet.core.resize.admit import NodeFacts

LIVES = json.loads((Path(__file__).parents[2] / "data/resize/lives.json").read_text())


def pod(life: dict[str, Any], spec: dict[str, Any]) -> Pod:
    def sized(entry: dict[str, Any]) -> Container:
        return decode.from_value({**entry, "resources": spec.get(entry["name"], {})}, Container)

    level = decode.from_value(spec["pod"], ResourceRequirements) if "pod" in spec else None
    return Pod(
        metadata=ObjectMeta(name="p", uid="p", generation=1),
        spec=PodSpec(
            containers=tuple(map(sized, life["containers"])),
            init_containers=tuple(map(sized, life["initContainers"])),
            resources=level,
        ),
    )


def pod_files(sim: SimNode) -> dict[str, str]:
    now = sim.cgroups["p"]
    return {
        "cpu.weight": str(now.weight),
        "cpu.max": cpu.max_text(now.quota, now.period),
        "memory.max": "max" if now.memory_max < 0 else str(now.memory_max),
    }


def container_files(sim: SimNode, name: str) -> dict[str, str]:
    found = containers.files(sim.runtime["p"][name], logarithmic=False)
    return {"memory.max": "max"} | {
        key: found[key] for key in ("cpu.weight", "cpu.max", "memory.max") if key in found
    }


def asks_for_cpu(spec: dict[str, Any], name: str) -> bool:
    return "cpu" in spec.get(name, {}).get("requests", {})


@pytest.mark.parametrize("name", LIVES)
def test_life(name: str) -> None:
    life = LIVES[name]
    sim = SimNode(NodeFacts(allocatable=amounts("2,2006278144")))
    sim.add(pod(life, life["moments"][0]["spec"]))
    for moment in life["moments"]:
        sim.spec("p", pod(life, moment["spec"]))
        expected = dict(moment["cgroup"])
        whole = expected.pop(".")
        if moment["moment"] != "finished init container":
            assert (moment["moment"], pod_files(sim)) == (moment["moment"], whole)
        for container, files in expected.items():
            found = container_files(sim, container)
            if not asks_for_cpu(moment["spec"], container):
                found["cpu.weight"] = files["cpu.weight"]
            assert (moment["moment"], container, found) == (moment["moment"], container, files)
        for container, reported in (moment["status"] or {}).items():
            assert decode.to_value(sim.reported("p", container)) == reported
