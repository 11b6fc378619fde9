import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.quantity import Quantity
from flexlet.core.calc.checks import check
from flexlet.core.calc.figures import figures
from flexlet.core.resources.defaults import default_pod_dict

VECTORS: Final = Path(__file__).parents[2] / "data" / "vectors" / "pod.jsonl"

RECORDED_TWICE: Final = {36, 45, 178, 186, 239, 287}
"""Lines whose recording changed the pod it recorded; see the README beside the data."""


def vectors() -> list[dict[str, Any]]:
    return [json.loads(line) for line in VECTORS.read_text().splitlines()]


def computed(vector: dict[str, Any]) -> dict[str, Any]:
    pod = decode.from_value(vector["pod"], Pod)
    check(pod)
    result: dict[str, Any] = msgspec.to_builtins(figures(pod, vector["want"]["node_memory"]))
    return result


@pytest.mark.parametrize(
    "vector", [pytest.param(v, id=str(n)) for n, v in enumerate(vectors()) if n not in RECORDED_TWICE]
)
def test_figures(vector: dict[str, Any]) -> None:
    """Every figure that upstream's own code computes for a pod, under every key."""
    assert computed(vector) == vector["want"]


@pytest.mark.parametrize("vector", [pytest.param(v, id=str(n)) for n, v in enumerate(vectors())])
def test_defaulting_of_dicts(vector: dict[str, Any]) -> None:
    """The API server's face of defaulting stores what the figures show."""
    expected, pod = computed(vector), vector["pod"]
    default_pod_dict(pod)
    containers = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
    assert pod["spec"].get("resources") == expected["defaulted_resources"]
    assert {c["name"]: c["resources"] for c in containers} == expected["defaulted_container_resources"]


@pytest.mark.parametrize("number", sorted(RECORDED_TWICE))
def test_side_effects_of_recording(number: int) -> None:
    """Six recordings count the overhead's memory again for each total taken; all else in them is as computed.

    What depends on the pod-level amount that was overwritten (QoS apart) moves with it and is not compared.
    """
    vector = vectors()[number]
    want, got = vector["want"], computed(vector)
    overhead = Quantity.parse(vector["pod"]["spec"]["overhead"]["memory"]).value
    for key in ("aggregated_requests", "defaulted_container_resources", "limits", "qos", "requests"):
        assert got[key] == want[key]
    assert _memory(want["defaulted_resources"]) != _memory(got["defaulted_resources"])
    for recorded, ours in (
        *zip(_memory(want["defaulted_resources"]), _memory(got["defaulted_resources"]), strict=True),
        (want["scheduler_requests"]["memory"], got["scheduler_requests"]["memory"]),
        (want["pod_cgroup"].get("memory.max", 0), got["pod_cgroup"].get("memory.max", 0)),
    ):
        assert recorded - ours in (0, overhead, 2 * overhead)


def _memory(resources: dict[str, dict[str, str]]) -> list[int]:
    return [
        Quantity.parse(amounts["memory"]).value for _, amounts in sorted(resources.items()) if "memory" in amounts
    ]
