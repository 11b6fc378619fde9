"""Running containers are brought to the CPUs that the books say, and meet nobody on the way."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.agent.builders import NOW, container, living, run
from tests.core.agent.managed import SETTINGS, machine, managed, own

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import CpuShares
from flexlet.core.agent import delays, pinning
from flexlet.core.agent.deeds import SetCpus
from flexlet.core.agent.fold import folded
from flexlet.core.agent.observations import Done, Failed, Finished, Outcome
from flexlet.core.agent.pinning import Pinning
from flexlet.core.agent.record import Pin, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.managers.state import Block

CPUS = 8
Book = dict[str, str]
"""CPUs by pod; ``shared`` is who has none of its own."""


def resident(name: str, cpus: str | None, mems: str = "") -> PodRecord:
    """A pod with one running container; None is a runtime that does not tell where it runs."""
    known = None if cpus is None else RuntimeResources(cpu_shares=CpuShares(2), cpuset_cpus=cpus, cpuset_mems=mems)
    record = living(own(name), run(container("c"), id=f"run-{name}", resources=known))
    return replace(record, exclusive=frozenset({"c"}) if name != "shared" else frozenset())


def written(world: World, book: Book) -> World:
    """The world with this in its books."""
    entries = {uid: {"c": CpuSet.parse(cpus)} for uid, cpus in book.items() if uid != "shared"}
    cpu = replace(world.managers.cpu, shared=CpuSet.parse(book["shared"]), entries=entries)
    return world.managed(replace(world.managers, cpu=cpu))


def populated(before: dict[str, str | None], after: Book) -> World:
    """Containers that have one thing, and books that say another."""
    world = managed(on=machine(CPUS))
    return written(world.with_pods({name: resident(name, cpus) for name, cpus in before.items()}), after)


def asked(world: World, now: float = NOW) -> dict[str, str]:
    return {deed.uid: deed.cpus for deed in pinning.due(world, now).deeds}


def begun(world: World, deed: SetCpus) -> World:
    record = world.pods[deed.uid]
    return world.with_pods({deed.uid: replace(record, underway={**record.underway, deed.key: NOW})})


def ended(world: World, deed: SetCpus, outcome: Outcome) -> World:
    end = Finished(deed=deed, outcome=outcome, began_at=NOW, ended_at=NOW)
    record = folded(world.pods[deed.uid], end, world.setup, NOW).record
    return world.with_pods({deed.uid: record})


def test_who_has_what_the_books_say_is_left_alone() -> None:
    book = {"shared": "0,3-7", "a": "1-2"}
    assert pinning.due(populated(dict(book), book), NOW) == Pinning()


def test_a_container_of_which_nothing_is_known_is_told() -> None:
    """It may run anywhere, so it counts as being everywhere."""
    world = populated({"shared": None, "a": ""}, {"shared": "0", "a": "1"})
    assert asked(world) == {"shared": "0", "a": "1"}
    assert pinning.due(world, NOW).leaving == CpuSet.parse("0-7")


def test_those_who_lose_go_first() -> None:
    """Here CPU 2 left, the shared ones give 3 instead, and get 4."""
    world = populated({"shared": "0,3", "a": "1-2"}, {"shared": "0,4", "a": "1,3"})
    first = pinning.due(world, NOW).deeds
    assert {deed.uid: deed.cpus for deed in first} == {"shared": "0,4", "a": "1"}
    lost = next(deed for deed in first if deed.uid == "shared")
    for deed in first:
        world = begun(world, deed)
    assert asked(world) == {}
    assert asked(ended(ended(world, lost, Done()), first[-1], Done())) == {"a": "1,3"}


def test_sets_that_are_exchanged_whole_are_exchanged_at_once() -> None:
    world = populated({"a": "1", "b": "2"}, {"shared": "0", "a": "2", "b": "1"})
    assert asked(world) == {"a": "2", "b": "1"}


def test_one_that_cannot_be_changed_is_asked_again_and_holds_nobody_up() -> None:
    world = populated({"shared": "0-3", "a": "1"}, {"shared": "0", "a": "1-2"})
    first = pinning.due(world, NOW).deeds
    assert {deed.uid: deed.cpus for deed in first} == {"shared": "0"}
    refused = ended(begun(world, first[0]), first[0], Failed(message="busy"))
    again_at = delays.again("shared", "cpus/run-shared", NOW, 10.0).ends_at
    expected = SetCpus(uid="a", container="c", container_id="run-a", cpus="1-2", unlimited=True)
    assert pinning.due(refused, NOW) == Pinning((expected,), again_at, CpuSet())
    assert asked(refused, again_at)["shared"] == "0"


def test_memory_follows_too() -> None:
    settings = replace(SETTINGS, cpu_policy="none", memory_policy="Static")
    blocks = {"a": {"c": (Block(nodes=(0, 1), type="memory", size=1),)}}
    world = replace(managed(), setup=replace(managed().setup, managers=settings))
    memory = replace(world.managers.memory, entries=blocks)
    world = world.managed(replace(world.managers, memory=memory)).with_pods({"a": resident("a", "", "0")})
    deed = SetCpus(uid="a", container="c", container_id="run-a", cpus="", mems="0-1", unlimited=True)
    assert pinning.due(world, NOW).deeds == (deed,)
    assert ended(world, deed, Done()).pods["a"].pinned == {"run-a": Pin(mems="0-1")}


def test_nobody_is_told_while_the_runtime_is_away() -> None:
    world = populated({"shared": None}, {"shared": "0"})
    assert pinning.due(replace(world, setup=replace(world.setup, runtime_ready=False)), NOW) == Pinning()


@st.composite
def books(draw: st.DrawFn) -> Book:
    """Everybody has something: CPU 0 is shared, three others are somebody's own, the rest is anybody's."""
    cpus = draw(st.permutations(range(1, CPUS)))
    rest = draw(st.lists(st.sampled_from(["shared", "a", "b", "c"]), min_size=CPUS - 4, max_size=CPUS - 4))
    found = {"shared": [0], "a": [cpus[0]], "b": [cpus[1]], "c": [cpus[2]]}
    for cpu, owner in zip(cpus[3:], rest, strict=True):
        found[owner].append(cpu)
    return {owner: str(CpuSet.of(each)) for owner, each in found.items()}


def has(world: World, uid: str) -> CpuSet:
    record = world.pods[uid]
    run_of = record.shown.containers[0] if record.shown is not None else None
    assert run_of is not None
    assert run_of.resources is not None
    pin = record.pinned.get(run_of.id)
    return CpuSet.parse(run_of.resources.cpuset_cpus if pin is None else pin.cpus)


def shared_by_two(world: World) -> bool:
    names = list(world.pods)
    pairs = [(one, other) for one in names for other in names if one < other]
    return any(has(world, one) & has(world, other) for one, other in pairs)


@given(before=books(), after=books(), data=st.data())
def test_everybody_arrives_and_no_cpu_has_two_owners_on_the_way(
    before: Book, after: Book, data: st.DataObject
) -> None:
    """In whatever order the runtime answers; unless sets are exchanged whole, which nobody can do in steps."""
    world = populated({**before}, after)
    whole = any(not CpuSet.parse(before[uid]) & CpuSet.parse(after[uid]) for uid in before)
    underway: list[SetCpus] = []
    for _ in range(4 * len(before)):
        for deed in pinning.due(world, NOW).deeds:
            world = begun(world, deed)
            underway.append(deed)
        if not underway:
            break
        done = underway.pop(data.draw(st.integers(0, len(underway) - 1)))
        world = ended(world, done, Done())
        assert whole or not shared_by_two(world)
    assert {uid: str(has(world, uid)) for uid in before} == {uid: after[uid] for uid in before}
