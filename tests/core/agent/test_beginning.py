"""The books of an agent that begins: from files, from what runs, and from whom the sources name."""

from msgspec.structs import replace
from tests.core.agent.managed import SETTINGS, admitted, machine, managed, own, sets

from flexlet.api.cpuset import CpuSet
from flexlet.core.agent.beginning import Begun, Running, begun
from flexlet.core.agent.world import World
from flexlet.core.machine.machine import Machine
from flexlet.core.managers import files
from flexlet.core.managers.files import CPU_FILE, Files
from flexlet.core.managers.state import Managers
from flexlet.core.resize.events import about


def left(world: World) -> tuple[World, Files]:
    """The world of the next agent, with the same pods and without books, and the files that it finds."""
    return replace(world, managers=Managers()), files.texts(world.managers)


def again(world: World, found: Files, running: Running | None = None, *, heard: bool = True) -> Begun:
    return begun(world, found, running or {}, heard=heard)


def test_the_books_are_taken_over() -> None:
    before = admitted(managed(), own("a", 2), own("b"))
    world, found = left(before)
    after = again(world, found)
    assert (sets(after.world), after.started.repairs, after.events) == (sets(before), (), ())


def test_who_is_gone_is_in_no_book() -> None:
    world, found = left(admitted(managed(), own("a", 2), own("b")))
    assert sets(again(world.without(["a"]), found).world) == {"": "0-2", "b": "3"}


def test_whom_the_api_has_not_named_yet_is_kept() -> None:
    """Static pods may go ahead without it, and take nobody's CPUs."""
    before = admitted(managed(), own("a", 2), own("b"))
    world, found = left(before)
    assert sets(again(world.without(["a", "b"]), found, heard=False).world) == sets(before)


def test_a_pod_that_was_never_let_in_has_no_claim() -> None:
    """Its place was written and its allocation was not: it is asked again, and gets the same."""
    before = admitted(managed(), own("a", 2))
    world, found = left(before)
    undecided = replace(world.pods["a"], allocation=None)
    assert sets(again(world.with_pods({"a": undecided}), found).world) == {"": "0-3"}


def test_cpus_that_are_gone_are_replaced_and_their_owner_is_told() -> None:
    world, found = left(admitted(managed(on=machine(8)), own("a", 2)))
    smaller = replace(world, setup=replace(world.setup, machine=_without(2)))
    after = again(smaller, found)
    assert sets(after.world) == {"": "0,4-7", "a": "1,3"}
    text = "Container c: exclusive CPUs 1-2→1,3"
    assert after.events == (about(own("a", 2), "Normal", "ExclusiveCPUsReassigned", text),)
    assert after.started.repairs != ()


def _without(cpu: int) -> Machine:
    whole = machine(8)
    return replace(whole, cpus=tuple(each for each in whole.cpus if each.id != cpu))


def test_a_spoiled_file_is_made_again_from_what_runs() -> None:
    world, _ = left(admitted(managed(), own("a", 2)))
    running = {"a": {"c": CpuSet.parse("2-3")}}
    spoiled = again(world, Files(cpu="{}x"), running)
    lost = again(world, Files(), running)
    assert (sets(spoiled.world), spoiled.started.spoiled) == ({"": "0-1", "a": "2-3"}, (CPU_FILE,))
    assert (sets(lost.world), lost.started.spoiled) == (sets(spoiled.world), ())


def test_another_policy_begins_anew() -> None:
    world, found = left(admitted(managed(), own("a", 2)))
    off = replace(world, setup=replace(world.setup, managers=replace(SETTINGS, cpu_policy="none")))
    assert sets(again(off, found).world) == {"": ""}
