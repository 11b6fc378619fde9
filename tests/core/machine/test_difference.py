import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import hosts

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.machine import discovery
from flexlet.core.machine.difference import Change, Direction, difference, key, lost_cpus
from flexlet.core.machine.machine import Cpu, HalfPlugged, Identity, Machine, NumaNode

BASE = discovery.machine(hosts.snapshot("small"), hosts.STORAGE)
GIB = 1024**3
THIRD = Cpu(2, core=2, socket=0, numa=0, cache=0)


def changed(**fields: object) -> tuple[Change, ...]:
    return difference(BASE, msgspec.structs.replace(BASE, **fields))


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        ({"cpus": (*BASE.cpus, THIRD)}, [Change("cpu", "increase", 2, 3)]),
        ({"cpus": BASE.cpus[:1]}, [Change("cpu", "decrease", 2, 1)]),
        ({"cpus": (BASE.cpus[0], THIRD)}, [Change("cpu", "moved", 2, 2)]),
        ({"cpus": (BASE.cpus[0], Cpu(1, core=0, socket=0, numa=0, cache=0))}, [Change("cpu", "moved", 2, 2)]),
        ({"memory": GIB}, [Change("memory", "decrease", BASE.memory, GIB)]),
        ({"swap": GIB}, [Change("swap", "increase", 0, GIB)]),
        ({"hugepages": {2**21: 4, 2**30: 0}}, [Change("hugepages-2Mi", "increase", 0, 2**23)]),
        ({"hugepages": {2**21: 0}}, []),
        ({"pids": 100}, [Change("pids", "decrease", 15310, 100)]),
        ({"storage": None}, [Change("ephemeral-storage", "decrease", 3021608 * 1024, 0)]),
        ({"identity": Identity(), "half_plugged": HalfPlugged(offline_blocks=(1,))}, []),
        (
            {"cpus": (*BASE.cpus, THIRD), "memory": GIB},
            [Change("cpu", "increase", 2, 3), Change("memory", "decrease", BASE.memory, GIB)],
        ),
    ],
)
def test_changes_have_a_direction(fields: dict[str, object], changes: list[Change]) -> None:
    """Per resource; several at once are several."""
    assert changed(**fields) == tuple(changes)


def test_memory_may_move() -> None:
    """As much as before, on another NUMA node; a new node is a change of its own."""
    nodes = (NumaNode(id=0, memory=Bytes(BASE.memory - GIB)), NumaNode(id=1, memory=Bytes(GIB)))
    both = msgspec.structs.replace(BASE, numa=nodes)
    assert difference(BASE, both) == (
        Change("memory", "moved", BASE.memory, BASE.memory),
        Change("numa", "increase", 1, 2),
    )


def test_cpus_are_lost_even_if_others_came() -> None:
    after = msgspec.structs.replace(BASE, cpus=(BASE.cpus[0], THIRD, Cpu(3, core=3, socket=0, numa=0, cache=0)))
    assert lost_cpus(BASE, after) == CpuSet.of([1])


machines = st.builds(
    Machine,
    cpus=st.sets(st.integers(0, 5)).map(lambda ids: tuple(Cpu(cpu, cpu, 0, 0, 0) for cpu in sorted(ids))),
    memory=st.sampled_from([GIB, 2 * GIB]),
    swap=st.sampled_from([0, GIB]),
    hugepages=st.dictionaries(st.sampled_from([2**21, 2**30]), st.integers(0, 2)),
    storage=st.sampled_from([None, GIB]),
)


@given(machines, machines)
def test_differences_mirror_each_other(one: Machine, other: Machine) -> None:
    """There and back changes the same resources by the same amounts; equal keys mean no difference."""
    mirrored: dict[Direction, Direction] = {"increase": "decrease", "decrease": "increase", "moved": "moved"}
    back = tuple(Change(c.resource, mirrored[c.direction], c.after, c.before) for c in difference(one, other))
    assert difference(other, one) == back
    assert difference(one, one) == ()
    if key(one) == key(other):
        assert not back
