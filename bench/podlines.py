"""Generated pods: the same ones every time, no two alike, shaped like the recorded vectors."""

import random
from typing import Any

import msgspec

Json = dict[str, Any]


def pod_lines(count: int, seed: int = 1) -> list[bytes]:
    """JSON lines for ``flexlet calc pod --jsonl``."""
    chance = random.Random(seed)
    lines = ({"pod": pod(chance, i), "node_memory": 1 << chance.randint(31, 38)} for i in range(count))
    return [msgspec.json.encode(line) for line in lines]


def pod(chance: random.Random, number: int) -> Json:
    """One to four containers, sometimes init containers, pod level, overhead; a status as during a resize."""
    containers = [_container(chance, f"c{i}") for i in range(chance.randint(1, 4))]
    init = [_container(chance, f"i{i}") for i in range(chance.choice((0, 0, 1, 2)))]
    for container in init:
        if chance.random() < 0.5:
            container["restartPolicy"] = "Always"
    spec: Json = {"containers": containers, "initContainers": init}
    status: Json = {"containerStatuses": [_status(c) for c in containers]}
    if chance.random() < 0.5:
        spec["resources"] = {"limits": {"cpu": "64", "memory": f"{chance.randint(64, 512)}Gi"}}
        status |= {"resources": spec["resources"], "allocatedResources": spec["resources"]["limits"]}
    if chance.random() < 0.2:
        spec["overhead"] = {"cpu": "250m", "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"p{number}",
            "namespace": "bench",
            "uid": f"uid-{number}",
            "labels": {"app": "bench"},
        },
        "spec": spec,
        "status": status,
    }


def _container(chance: random.Random, name: str) -> Json:
    requests = {"cpu": f"{chance.randint(1, 4000)}m", "memory": f"{chance.randint(1, 4000)}Mi"}
    limits = {"cpu": f"{chance.randint(4, 8)}", "memory": f"{chance.randint(4 * 2**30, 8 * 2**30)}"}
    kept = chance.choice(("requests", "limits", "both", "neither"))
    resources: Json = {}
    if kept in ("requests", "both"):
        resources["requests"] = requests
    if kept in ("limits", "both"):
        resources["limits"] = limits
    return {"name": name, "image": "registry.example/app:1", "resources": resources}


def _status(container: Json) -> Json:
    resources = container["resources"]
    return {
        "name": container["name"],
        "ready": True,
        "restartCount": 0,
        "resources": resources,
        "allocatedResources": resources.get("requests", {}),
    }
