"""The size table of node-resize.md §7.1 on a whole node that goes through all sizes, down and up again."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from tests.scenarios.node_resize.hardware import size
from tests.scenarios.node_resize.seeing import Seeing
from tests.scenarios.node_resize.stage import Stage, stage

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.units import Bytes
from flexlet.core.cgroups.containers import container_resources
from flexlet.core.cgroups.settings import CgroupSettings, Host
from flexlet.testing import run

Json = dict[str, Any]

TABLE: Final[Json] = yaml.safe_load((Path(__file__).parent / "sizes.yaml").read_text(encoding="utf-8"))
PODS: Final = {
    "best": None,
    "sure": "100m,64Mi / 100m,64Mi",
    "small": "100m,512Mi / ,1Gi",
    "big": "500m,2Gi / ,4Gi",
}
PAGE: Final = 4096
REQUESTS: Final = {"big": 2 << 30, "small": 512 << 20}


async def _seen(there: Stage, row: Json) -> Json:
    """The row as the node shows it."""
    seeing = Seeing(there)
    wanted = {"memory": f"{row['capacity']} / {row['allocatable']}", "condition": "False/Stable", "taints": []}
    assert await seeing.node(wanted) == wanted
    assert await seeing.containers({"best": {"oom": 1000, "swap": 0}, "sure": {"oom": -997, "swap": 0}}) == {
        "best": {"oom": 1000, "swap": 0},
        "sure": {"oom": -997, "swap": 0},
    }
    kubepods = await seeing.kubepods({"memory.max": 0, "memory.high": "max"})
    assert kubepods["memory.high"] == "max"
    pods = await seeing.containers({name: {"oom": 0, "swap": 0} for name in REQUESTS})
    return row | {"kubepods": kubepods["memory.max"]} | {n: v and [v["oom"], v["swap"]] for n, v in pods.items()}


def _pages(amount: int) -> int:
    """The kernel keeps limits in whole pages."""
    return amount // PAGE * PAGE


def _with(row: Json, *present: str) -> Json:
    kept = {name: [row[name][0], _pages(row[name][1])] if name in present else None for name in REQUESTS}
    return row | kept


def test_a_node_goes_through_all_sizes(tmp_path: Path) -> None:
    """Whoever has no room at a size has to go there, and stays away when the memory comes back."""

    async def story() -> None:
        rows = TABLE["memory"]
        room = {"3Gi": ("small",), "2Gi": ("small",), "1536Mi": ()}
        async with stage({"node": {"memory": "16Gi"}, "pods": PODS}, tmp_path) as there:
            for row in rows:
                await there.act({"memory": row["memory"]})
                assert await _seen(there, row) == _with(row, *room.get(row["memory"], ("big", "small")))
            for row in reversed(rows):
                await there.act({"memory": row["memory"]})
                assert await _seen(there, row) == _with(row)

    run(story())


@pytest.mark.parametrize("row", TABLE["memory"], ids=lambda row: row["memory"])
@pytest.mark.parametrize("name", REQUESTS)
def test_what_a_container_would_get_where_it_has_no_room(row: Json, name: str) -> None:
    """The cells of the table that no whole node can show, and all others once more."""
    spec = {"name": "c", "resources": {"requests": {"memory": str(REQUESTS[name])}, "limits": {"memory": "8Gi"}}}
    pod = decode.from_value({"metadata": {"name": name, "uid": name}, "spec": {"containers": [spec]}}, Pod)
    memory = Bytes(size(row["memory"]))
    host = Host(memory=memory, swap=Bytes(4 << 30), allocatable_memory=memory, swap_controller=True)
    found = container_resources(
        pod, pod.spec.containers[0], host, CgroupSettings(memory_swap_behavior="LimitedSwap")
    )
    assert [found.oom_score_adj, int(found.unified["memory.swap.max"])] == row[name]


def test_a_node_goes_through_all_numbers_of_cpus(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage({"node": {"cpus": "0-11"}, "pods": {"best": None}}, tmp_path) as there:
            seeing = Seeing(there)
            for row in (*reversed(TABLE["cpus"]), *TABLE["cpus"]):
                await there.act({"cpus": row["cpus"], "wait": 12})
                count = int(row["cpus"].partition("-")[2]) + 1
                wanted = {"cpu": f"{count} / {row['allocatable']}"}
                assert await seeing.node(wanted) == wanted
                assert await seeing.kubepods({"cpu.weight": 0}) == {"cpu.weight": row["weight"]}
                assert await seeing.containers({"best": {"cpus": ""}}) == {"best": {"cpus": row["cpus"]}}

    run(story())


def test_the_example_of_the_kep(tmp_path: Path) -> None:
    """In decimal units, and without any event: found by looking."""

    async def story() -> list[Json]:
        given = {"node": {"memory": "6G", "swap": "4G"}, "pods": {"example": "100m,2G / ,3G"}}
        async with stage(given, tmp_path) as there:
            found = []
            for row in TABLE["kep"]:
                await there.act({"balloon": row["memory"], "wait": 13})
                [shown] = (await Seeing(there).containers({"example": {"oom": 0, "swap": 0}})).values()
                found.append({"memory": row["memory"], **shown})
            return found

    assert run(story()) == [row | {"swap": _pages(row["swap"])} for row in TABLE["kep"]]
