"""What pods are held to beside a balloon: by hand, and in any order of sizes and usages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import decode
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB
from flexlet.core.balloon import enforcement
from flexlet.core.balloon.enforcement import NO_CAP, Cap, Enforced, Limits
from flexlet.core.nodesize import objects
from flexlet.errors import InputError

SIZE = {"cpu": 8000, "memory": 32 * GIB}
CPU = Enforced(mode="Cpu")
BOTH = Enforced(mode="CpuAndMemory")


def said(mode: str, cpu: str = "", memory: str = "") -> Enforced:
    amounts = {"cpu": cpu, "memory": memory}
    value = {"mode": mode, "effective": {name: text for name, text in amounts.items() if text}}
    return decode.from_value(value, Enforced)


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        ((), Limits()),
        ((said("None", "4", "4Gi"),), Limits()),
        ((CPU,), Limits(cpu=8000)),
        ((BOTH,), Limits(cpu=8000, memory=33 * GIB)),
        ((said("CpuAndMemory", "12", "48Gi"),), Limits(cpu=12000, memory=49 * GIB)),
        ((said("CpuAndMemory", "4", "16Gi"),), Limits(cpu=8000, memory=33 * GIB)),
        (
            (said("Cpu", "9"), said("CpuAndMemory", "4", "40Gi"), said("None", "90")),
            Limits(cpu=9000, memory=41 * GIB),
        ),
    ],
)
def test_the_larger_of_what_is_said_and_what_is_known_counts(texts: tuple[Enforced, ...], limits: Limits) -> None:
    assert enforcement.limits(texts, SIZE, margin=GIB) == limits


def test_a_node_that_is_all_balloon_leaves_its_pods_a_little() -> None:
    assert enforcement.limits((BOTH,), {"cpu": -5, "memory": 0}) == Limits(cpu=10, memory=64 * MIB)


def test_the_annotation_is_what_the_controller_writes() -> None:
    effective = {"cpu": Quantity.parse("8"), "memory": Quantity.parse("32Gi")}
    written = decode.to_json(objects.Enforced(mode="CpuAndMemory", effective=effective)).decode()
    assert enforcement.read(written) == said("CpuAndMemory", "8", "32Gi")
    for text in ("{", '{"mode": "All"}', '{"mode": "Cpu", "effective": {"cpu": "x"}}'):
        with pytest.raises(InputError):
            enforcement.read(text)


@pytest.mark.parametrize(
    ("before", "wanted", "used", "hard"),
    [
        (None, 100, 94, 100),
        (None, 100, 96, None),
        (120, 100, 96, 120),
        (120, 100, 50, 100),
        (80, 100, 99, 100),
        (100, 100, 100, 100),
    ],
)
def test_the_hard_limit_rises_at_once_and_falls_when_there_is_room(
    before: int | None, wanted: int, used: int, hard: int | None
) -> None:
    cap = Cap(wanted=Limits(cpu=1, memory=before), hard=before)
    after = enforcement.towards(cap, Limits(cpu=1, memory=wanted), used)
    assert after == Cap(wanted=Limits(cpu=1, memory=wanted), hard=hard)
    assert after.is_whole == (hard == wanted)


def test_the_files() -> None:
    assert enforcement.files(NO_CAP) == {}
    cap = Cap(wanted=Limits(cpu=7500, memory=GIB), hard=2 * GIB)
    assert enforcement.files(cap) == {
        "cpu.max": "750000 100000",
        "memory.high": str(GIB),
        "memory.max": str(2 * GIB),
    }
    assert enforcement.parse(enforcement.encode(cap)) == cap


@given(st.lists(st.tuples(st.none() | st.integers(1, 100), st.integers(0, 120)), max_size=30))
def test_no_history_sets_a_hard_limit_that_would_kill(steps: list[tuple[int | None, int]]) -> None:
    """It is never below what pods use when it is lowered, never below what is wanted, and soft is always exact."""
    cap = NO_CAP
    for wanted, used in steps:
        after = enforcement.towards(cap, Limits(memory=wanted), used)
        assert after.wanted.memory == wanted
        assert (after.hard is None) if wanted is None else (after.hard is None or after.hard >= wanted)
        lowered = after.hard is not None and (cap.hard is None or after.hard < cap.hard)
        assert not lowered or (after.hard is not None and used < after.hard)
        cap = after
