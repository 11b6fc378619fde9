import msgspec
import pytest
from tests.core.managers.cpu.grounds import book, cpus, ground, machine, pod

from flexlet.core.managers.cpu.static import fresh
from flexlet.core.managers.cpu.validation import problems
from flexlet.core.managers.state import CpuState

HERE = ground(machine(4))
STRICT = ground(machine(4), "strict-cpu-reservation")


def test_a_sound_book_has_no_problems() -> None:
    for floor in (HERE, STRICT):
        assert problems(fresh(floor), floor) == ()
        assert problems(book(floor, pod("p", 2)), floor) == ()
    assert problems(CpuState(policy="static"), HERE) == ()


@pytest.mark.parametrize(
    ("shared", "own", "words"),
    [
        ("", "1-2", "default cpuset cannot be empty"),
        ("3", "0-2", 'not all reserved cpus: "0" are present in defaultCpuSet: "3"'),
        ("0-3", "1-2", 'pod: p, container: c0 cpuset: "1-2" overlaps with default cpuset "0-3"'),
        ("0", "1-2", 'current set of available CPUs "0-3" doesn\'t match with CPUs in state "0-2"'),
        ("0,3-7", "1-2", 'current set of available CPUs "0-3" doesn\'t match with CPUs in state "0-7"'),
    ],
)
def test_the_words_of_the_kubelet(shared: str, own: str, words: str) -> None:
    state = CpuState(policy="static", shared=cpus(shared), reserved=cpus("0"), entries={"p": {"c0": cpus(own)}})
    assert problems(state, HERE) == (words,)


def test_strict_reservation_has_its_own_words() -> None:
    words = 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-3"'
    mixed = msgspec.structs.replace(fresh(STRICT), shared=cpus("0-3"))
    assert problems(mixed, STRICT)[0] == words
    short = msgspec.structs.replace(fresh(STRICT), shared=cpus("1-2"))
    unmatched = 'current set of available CPUs "1-3" doesn\'t match with CPUs in state "1-2"'
    assert problems(short, STRICT) == (unmatched,)
