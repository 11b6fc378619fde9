"""Plans with real managers: random machines lose and get CPUs under random pods."""

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.hotplug import nodes

from flexlet.api import decode
from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import NoChange, ResizePlan, plan
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.steps import Publish, TuneContainer
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.machine.machine import Machine, NumaNode
from flexlet.core.managers import placing, starting
from flexlet.core.managers.claims import claim
from flexlet.core.managers.files import Files
from flexlet.core.managers.resync import resync
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Managers, Refusal

STATIC = ManagerSettings(cpu_policy="static", reserved_milli=1000)
GIB = 1024**3


def housed(machine: Machine, managing: ManagerSettings, people: list[Tenant]) -> tuple[list[Tenant], Managers]:
    """Those who could be let in, one after the other, and the books."""
    managers = starting.start(managing, machine, Files(), {}, []).managers
    inside: list[Tenant] = []
    for each in people:
        found = placing.place(managers, managing, machine, claim(each.pod))
        if not isinstance(found, Refusal):
            managers, inside = found, [*inside, each]
    return inside, managers


@st.composite
def people(draw: st.DrawFn) -> list[Tenant]:
    """Pods of which many have CPUs of their own."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        size = f"{draw(st.sampled_from(('500m', '1', '2', '3')))},{draw(st.sampled_from(('100Mi', '1Gi')))}"
        kind: dict[str, Any] = draw(
            st.sampled_from(({}, {}, {"static": True}, {"balloon": True}, {"leaving": True}, {"priority": 9}))
        )
        limits = draw(st.sampled_from((size, size, "")))
        found.append(nodes.tenant(f"p{number}", size, limits, age=number, **kind))
    return found


@given(
    people(),
    st.lists(st.sets(st.integers(1, 9), max_size=9), min_size=2, max_size=4),
    st.sampled_from(("Strict", "Tolerate")),
)
def test_books_and_victims_agree_through_any_life(tenants: list[Tenant], lives: list[set[int]], rule: Any) -> None:
    """Nobody safe is ended, victims are out of the books, CPUs have one owner; every plan can be written down."""
    machines = [nodes.machine((0, *sorted(cpus))) for cpus in lives]
    inside, managers = housed(machines[0], STATIC, tenants)
    settings = ResizeSettings(plug=True, unplug=True, cpu=rule)
    last = Generation(number=1, machine=machines[0])
    for machine in machines[1:]:
        found = plan(
            last,
            machine,
            1.0,
            nodes.situation(*inside, resize=settings, managing=STATIC, managers=managers, resync=resync),
        )
        if isinstance(found, NoChange):
            continue
        decode.to_json(found)
        (published,) = (each for each in found.steps if isinstance(each, Publish))
        ended = {each.uid for each in found.victims}
        assert not any(each.is_critical or each.is_balloon or each.leaving for each in inside if each.uid in ended)
        books = published.managers.cpu
        sets = [cpus for held in books.entries.values() for cpus in held.values()]
        assert ended.isdisjoint(books.entries)
        assert all((one & other) == CpuSet() for one, other in itertools.combinations((*sets, books.shared), 2))
        assert all(cpus.issubset(machine.online) for cpus in (*sets, books.shared))
        inside = [each for each in inside if each.uid not in ended and not each.leaving]
        last, managers = found.generation, published.managers


def numa(*sizes: int) -> Machine:
    nodes_ = tuple(NumaNode(id=place, memory=Bytes(size * GIB)) for place, size in enumerate(sizes))
    return nodes.machine(memory=f"{sum(sizes)}Gi", numa=nodes_)


def test_numa_memory_that_is_gone_ends_its_holder() -> None:
    """S18: node 0 goes from 8Gi to 3Gi, and node 1 has no room for what lay there."""
    reserved = {"memory": 512 * 1024**2}
    managing = ManagerSettings(
        memory_policy="Static",
        reserved_memory={0: reserved, 1: reserved},
        reserved_milli=1000,
        reservation=replace(nodes.SETTINGS.reservation, eviction_hard={}),
    )
    pair = [nodes.tenant(f"p{place}", "1,4Gi", "1,4Gi", age=place) for place in range(2)]
    inside, managers = housed(numa(8, 8), managing, pair)
    assert [managers.memory.nodes_of(each.uid, "c") for each in inside] == [CpuSet.of([0]), CpuSet.of([1])]
    found = plan(
        Generation(number=1, machine=numa(8, 8)),
        numa(3, 8),
        1.0,
        nodes.situation(*inside, managing=managing, managers=managers, resync=resync),
    )
    assert isinstance(found, ResizePlan)
    assert [(each.uid, each.reason) for each in found.victims] == [("p0", "OutOfmemory")]


def test_what_was_ended_does_not_come_back_by_itself() -> None:
    """S4: 8, 4, 8Gi with the pods of §7.3; who stays has the values of the size again."""
    everybody = [
        nodes.tenant("p1", "100m,128Mi", static=True, priority=2_000_001_000),
        nodes.tenant("p3", "500m,2Gi", age=2, priority=1000),
        nodes.tenant("p4", "500m,2Gi", age=3),
    ]
    down = plan(nodes.generation(), nodes.machine(memory="4Gi"), 1.0, nodes.situation(*everybody))
    assert isinstance(down, ResizePlan)
    assert [each.uid for each in down.victims] == ["p4"]
    up = plan(down.generation, nodes.machine(memory="8Gi"), 2.0, nodes.situation(*everybody[:2]))
    assert isinstance(up, ResizePlan)
    scores = [
        [(each.oom_before, each.oom_after) for each in found.steps if isinstance(each, TuneContainer)]
        for found in (down, up)
    ]
    assert [scores[0][1], scores[1][1]] == [((750,), 500), ((500,), 750)]
    assert up.view == replace(down.was)
