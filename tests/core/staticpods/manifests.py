"""Manifests for tests, and rules that find nothing wrong."""

import copy
import json
from pathlib import Path
from typing import Any

from flexlet.core.staticpods.pods import Manifest, StaticPod, static_pod

LIFE = json.loads((Path(__file__).parents[2] / "data" / "lives" / "static-pod.json").read_text())
NODE = "Node-A"
NOW = 1_800_000_000.0


class Lenient:
    """No defaults, no complaints."""

    def read(self, value: dict[str, Any]) -> dict[str, Any]:
        return value

    def complete(self, pod: dict[str, Any]) -> list[str]:
        del pod
        return []


LENIENT = Lenient()


def value(name: str = "st", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "busybox:1"}], **copy.deepcopy(spec)},
    }


def manifest(name: str = "st", path: str = "", **spec: Any) -> Manifest:
    return Manifest(path or f"/etc/kubernetes/manifests/{name}.yaml", value(name, **spec))


def pod(name: str = "st", path: str = "", **spec: Any) -> StaticPod:
    made = static_pod(manifest(name, path, **spec), NODE, NOW, LENIENT)
    assert isinstance(made, StaticPod)
    return made
