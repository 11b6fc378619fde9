"""The tables of CPUs and NUMA nodes, on a whole simulated node: pods are posted, containers are looked at."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tests.engine.agent.managed import book, is_failed
from tests.engine.agent.world import World, amounts, is_ready, world

from flexlet.api.units import GIB
from flexlet.testing import NodeOptions, run

Json = dict[str, Any]

TABLE: Final = Path(__file__).with_name("managed.yaml")


def options(row: Json) -> NodeOptions:
    config: Json = {"evictionHard": {"memory.available": "0%"}, **row.get("config", {})}
    if "memory" in row:
        reserved = [{"numaNode": node, "limits": {"memory": "512Mi"}} for node in (0, 1)]
        config |= {"memoryManagerPolicy": "Static", "reservedMemory": reserved, "kubeReserved": {"memory": "1Gi"}}
    else:
        config |= {"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": row.get("options", {})}
    if "reserved" in row:
        config["kubeReserved"] = {"cpu": str(row["reserved"])}
    machine = row["machine"]
    return NodeOptions(
        cpus=machine["cpus"],
        cores=machine.get("cores"),
        numa=tuple(machine.get("numa", ())),
        memory=16 * GIB,
        config=config,
    )


async def served(there: World, name: str, request: Json) -> Json:
    """What came of a request, in the words of the table."""
    size = f"{request.get('cpu', '100m')},{request.get('memory', '64Mi')}"
    uid = await there.create(name, {"a": amounts(size, size)})
    pod = await there.until(name, lambda found: is_ready(found) or is_failed(found))
    status = pod["status"]
    if is_failed(pod):
        return {"reason": status["reason"], "message": status["message"].removeprefix("Pod was rejected: ")}
    files = there.node.pod_cgroups(uid)["a"]
    return {key: files[f"cpuset.{file}"] for key, file in (("set", "cpus"), ("mems", "mems")) if key in request}


async def filled(row: Json, directory: Path) -> tuple[list[Json], str | None]:
    async with world(directory, options(row)) as there:
        found = [await served(there, f"p{number}", each) for number, each in enumerate(row["requests"])]
        return found, book(there)[0] if "shared" in row else None


@pytest.mark.parametrize("row", yaml.safe_load(TABLE.read_text()), ids=lambda row: row["about"])
def test_pods_get_what_the_table_says(row: Json, tmp_path: Path) -> None:
    asked = ("cpu", "memory")
    expected = [{key: value for key, value in each.items() if key not in asked} for each in row["requests"]]
    assert run(filled(row, tmp_path)) == (expected, row.get("shared"))
