from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import pods
from tests.core.hotplug import nodes

from flexlet.api.quantity import Quantity
from flexlet.core.hotplug.tuning import tunes
from flexlet.core.hotplug.view import view
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.managers.settings import ManagerSettings

SIZES = nodes.table("sizes.yaml")
BIG = nodes.tenant("big", "500m,2Gi", ",4Gi")
SMALL = nodes.tenant("small", ",512Mi", ",1Gi")
KUBEPODS = {
    "cpu.weight": "118",
    "memory.max": "7516192768",
    "memory.high": "max",
    "cpuset.cpus": "0-3",
}


@pytest.mark.parametrize("row", SIZES["memory"], ids=lambda row: row["total"])
def test_memory_decides_everything_of_the_size_table(row: dict[str, Any]) -> None:
    """Capacity, allocatable, the limit around all pods; score and swap of two containers."""
    other = view(nodes.machine(memory="100Gi"), nodes.SETTINGS)
    found = view(nodes.machine(memory=row["total"]), nodes.SETTINGS)
    tuned = tunes((BIG, SMALL), [other.host], found.host, nodes.SWAPPING)
    assert {
        "total": row["total"],
        "capacity": f"{found.capacity['memory'].value // 1024}Ki",
        "allocatable": f"{found.allocatable['memory'].value // 1024**2}Mi",
        "max": found.kubepods["memory.max"],
        "B": [tuned[0].oom_after, tuned[0].files["memory.swap.max"]],
        "b": [tuned[1].oom_after, tuned[1].files["memory.swap.max"]],
    } == row


@pytest.mark.parametrize("row", SIZES["cpus"], ids=lambda row: str(row["count"]))
def test_cpus_decide_weight_and_allocatable(row: dict[str, Any]) -> None:
    found = view(nodes.machine(row["count"]), nodes.SETTINGS)
    shown = {"count": row["count"], "allocatable": f"{found.allocatable['cpu'].milli}m"}
    assert shown | {"weight": found.kubepods["cpu.weight"]} == row


def test_kubepods_is_held_to_all_online_cpus_only_without_a_cpu_manager() -> None:
    """Under the static policy containers are pinned one by one, and kubepods must not stand in the way."""
    machine = nodes.machine((0, 1, 2, 3), pids=1000)
    assert view(machine, nodes.SETTINGS).kubepods == KUBEPODS | {"pids.max": "1000"}
    static = view(machine, nodes.SETTINGS, ManagerSettings(cpu_policy="static"))
    assert static.kubepods == KUBEPODS | {"cpuset.cpus": "\n", "pids.max": "1000"}


def test_without_enforcement_pods_may_use_everything() -> None:
    found = view(nodes.machine(), nodes.SETTINGS, enforce=False)
    assert found.kubepods == KUBEPODS | {"cpu.weight": "157", "memory.max": str(8 * 1024**3)}


def test_huge_pages_come_off_allocatable_memory_and_not_off_the_limit() -> None:
    """S11."""
    found = view(nodes.machine(hugepages={2 * 1024**2: 512}), nodes.SETTINGS)
    assert pods.texts(found.allocatable)["hugepages-2Mi"] == "1Gi"
    assert found.allocatable["memory"] == Quantity.parse("6044Mi")
    files = {"hugetlb.2MB.max": "1073741824", "hugetlb.2MB.rsvd.max": "1073741824"}
    assert found.kubepods == KUBEPODS | files


def test_a_percentage_follows_the_size() -> None:
    """S20."""
    reservation = Reservation(
        kube=nodes.SETTINGS.reservation.kube,
        system=nodes.SETTINGS.reservation.system,
        eviction_hard={"memory.available": "5%"},
    )
    settings = msgspec.structs.replace(nodes.SETTINGS, reservation=reservation)
    sizes = [view(nodes.machine(memory=text), settings).allocatable["memory"].value for text in ("8Gi", "16Gi")]
    assert sizes == [7086696032, 15247133888]


def test_a_machine_below_its_reservations_offers_nothing() -> None:
    """S19: and still pods are limited, to what the critical ones use and a little."""
    found = view(nodes.machine(memory="1Gi"), nodes.SETTINGS, critical_usage=10 * 1024**2)
    assert (found.allocatable["memory"].value, found.below_reserved) == (0, ("memory",))
    assert (found.kubepods["memory.max"], found.limit) == (str(74 * 1024**2), 74 * 1024**2)


@given(st.integers(1, 2**45), st.integers(1, 64), st.integers(0, 2**40))
def test_the_limit_is_never_nothing(memory: int, cpus: int, usage: int) -> None:
    """Zero would mean that there is no limit; below the use of critical pods it would kill them."""
    found = view(nodes.machine(cpus, str(memory)), nodes.SETTINGS, critical_usage=usage)
    assert int(found.kubepods["memory.max"]) == found.limit > usage


@given(st.integers(1, 2**40), st.integers(1, 2**40), st.integers(1, 64), st.integers(1, 64))
def test_plug_then_unplug_restores_everything(memory: int, other: int, cpus: int, others: int) -> None:
    """A view has no memory of the sizes before it."""
    first, second = nodes.machine(cpus, str(memory)), nodes.machine(others, str(other))
    views = [view(each, nodes.SETTINGS) for each in (first, second, first)]
    assert views[0] == views[2]
    up = tunes((BIG, SMALL), [views[0].host], views[1].host, nodes.SWAPPING)
    down = tunes((BIG, SMALL), [views[1].host], views[2].host, nodes.SWAPPING)
    assert [(each.files, each.before, (each.oom_after,)) for each in down] == [
        (each.before, each.files, each.oom_before or (each.oom_after,)) for each in up
    ]
