"""Lives of one node that is asked to become smaller."""

from msgspec.structs import replace
from tests import pods
from tests.core.hotplug import nodes
from tests.core.hotplug.shrinking import BLOCKS, EARLY, FULL, GIB, LATE, WISH, Node, moved

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.hotplug import prepared
from flexlet.core.hotplug.preparing import (
    Decision,
    DrainCpus,
    FreeMemory,
    Prepared,
    TakeOffline,
)
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import HalfPlugged
from flexlet.core.machine.parts import Part
from flexlet.core.managers.resync import Move, Write, resync
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState, Managers


def test_a_node_with_room_goes_straight_to_work() -> None:
    """Memory first, one part at a time; then it says that everything is ready, and in which generation."""
    node = Node(EARLY)
    first = node.step()
    assert pods.texts(first.ceiling) == {"cpu": "2", "memory": "5020Mi", "pods": "110"}
    assert first.closed
    last = node.run()
    assert node.calls == ["offline memory7", "offline memory6", "offline cpu3"]
    assert (last.unplug_ready, node.state.phase, last.closed) == (4, "ready", True)
    assert prepared.kept_offline(node.state) == {Part("memory", 7), Part("memory", 6), Part("cpu", 3)}
    for part in node.state.parts:
        node.machine = moved(node.machine, part, "gone")
    assert node.step() == Decision(state=Prepared(wish=WISH))
    node.wish = ""
    assert node.step() == Decision(state=Prepared())


def test_pods_leave_first_and_budgets_are_asked_again() -> None:
    """Whoever would not fit is evicted; nothing is touched before it is gone."""
    node = Node(EARLY, LATE)
    assert node.run().wake_at == 105.0
    node.now = 105.0
    node.step()
    assert node.calls == ["evict late", "evict late"]
    node.tenants = (EARLY, replace(LATE, leaving=True))
    node.now = 111.0
    assert node.run().steps == ()
    node.tenants = (EARLY,)
    node.run()
    assert node.calls[2:] == ["offline memory7", "offline memory6", "offline cpu3"]


def test_pods_that_do_not_leave_end_the_attempt() -> None:
    """The same wish is not tried again; another one is."""
    node = Node(EARLY, LATE)
    node.step()
    node.now += 600
    last = node.step()
    assert last == Decision(
        state=Prepared(phase="refused", wish=WISH, why="pods did not leave in time"),
        refused="pods did not leave in time",
    )
    assert node.step() == last
    node.wish = '{"cpu": "3"}'
    assert node.step().state.phase == "offlining"


def test_a_block_that_refuses_brings_everything_back() -> None:
    """S23: allocatable is restored, and nobody was ended."""
    node = Node(EARLY)
    node.stubborn = {"memory6"}
    last = node.run()
    assert node.calls == ["offline memory7", "offline memory6", "online memory7"]
    assert node.machine == FULL
    why = "memory6 cannot be taken offline: EBUSY: no"
    assert last == Decision(state=Prepared(phase="refused", wish=WISH, why=why), refused=why)


def test_another_movable_block_may_stand_in() -> None:
    node = Node(EARLY)
    node.movable = frozenset({3, 4, 5})
    node.stubborn = {"memory5"}
    node.run()
    assert node.calls == ["offline memory5", "offline memory3", "offline memory4", "offline cpu3"]
    assert node.state.phase == "ready"
    node.movable, node.wish = frozenset(), ""
    node.run()
    assert node.calls[4:] == ["online_movable memory3", "online_movable memory4", "online cpu3"]


def test_a_wish_that_is_taken_back_is_undone() -> None:
    """Also in the middle, and by an agent that was started again."""
    node = Node(EARLY)
    node.step()
    node.state = prepared.resumed(node.state)
    node.wish = ""
    last = node.run()
    assert node.calls == ["offline memory7", "offline memory6", "online memory7", "online memory6"]
    assert (last, node.machine) == (Decision(state=Prepared()), FULL)


def test_an_agent_that_died_goes_on_where_the_machine_is() -> None:
    """A part was switched and nobody heard of it."""
    node = Node(EARLY)
    first = prepared.decide(node.state, node.scene, node.now)
    assert first.steps == (
        FreeMemory(Bytes(5 * GIB), 60.0),
        TakeOffline(Part("memory", 7), 60.0),
        TakeOffline(Part("memory", 6), 60.0),
    )
    node.machine = moved(node.machine, Part("memory", 7), "offline")
    node.state = prepared.resumed(first.state)
    same = prepared.taken_up(node.state, node.machine, 1, node.scene.situation.node, ManagerSettings())
    assert same == Decision(state=node.state, ceiling=first.ceiling)
    node.run()
    assert node.calls == ["offline memory6", "offline cpu3"]


def test_nobody_removes_what_is_ready() -> None:
    node = Node(EARLY)
    node.run()
    node.now += 600
    last = node.run()
    assert node.machine == FULL
    assert last.refused == "nobody removed the parts in time"


def test_cpus_are_drained_before_they_go() -> None:
    """The container on CPU 3 moves; when the CPU is back, it is shared."""
    pinned = nodes.tenant("pinned", "1,1Gi", "1,1Gi")
    cpu = CpuState(
        policy="static",
        shared=CpuSet.parse("0-2"),
        entries={"pinned": {"c": CpuSet.of([3])}},
        reserved=CpuSet.of([0]),
    )
    managing = ManagerSettings(cpu_policy="static", reserved_cpus=CpuSet.of([0]), reserved_milli=1000)
    books = Managers(cpu=cpu, numa=(0,))
    node = Node(pinned, managing=managing, managers=books, resync=resync)
    node.wish = '{"cpu": "3"}'
    last = node.step()
    after = replace(books, cpu=replace(cpu, shared=CpuSet.of([0, 2]), entries={"pinned": {"c": CpuSet.of([1])}}))
    assert last.steps[0] == DrainCpus(
        managers=after,
        reassigned=(Move("pinned", "c", CpuSet.of([3]), CpuSet.of([1])),),
        cpusets=(Write("pinned", "c", CpuSet.of([1])),),
    )
    assert node.calls == ["shared 0,2", "offline cpu3"]
    node.wish = ""
    node.run()
    assert node.calls[2:] == ["online cpu3", "shared 0,2-3"]


def test_the_books_follow_memory_before_they_are_moved_off_cpus() -> None:
    """What the managers are asked about is the size they know."""
    cpu = CpuState(policy="static", shared=CpuSet.parse("0-3"), reserved=CpuSet.of([0]))
    managing = ManagerSettings(cpu_policy="static", reserved_cpus=CpuSet.of([0]), reserved_milli=1000)
    node = Node(managing=managing, managers=Managers(cpu=cpu, numa=(0,)), resync=resync)
    node.step()
    node.published = False
    assert node.step().steps == ()
    node.published = True
    node.step()
    assert node.calls == ["offline memory7", "offline memory6", "shared 0-2", "offline cpu3"]
    node.published = False
    assert (node.step().unplug_ready, node.state.phase) == (0, "offlining")


def test_cpus_that_are_shared_again_are_drained_again() -> None:
    """The node has followed the first CPU, and its books know nothing of the second."""
    cpu = CpuState(policy="static", shared=CpuSet.parse("0-3"), reserved=CpuSet.of([0]))
    managing = ManagerSettings(cpu_policy="static", reserved_cpus=CpuSet.of([0]), reserved_milli=1000)
    node = Node(managing=managing, managers=Managers(cpu=cpu, numa=(0,)), resync=resync)
    node.wish, node.dies_after = '{"cpu": "2"}', 2
    node.step()
    node.more["managers"] = Managers(cpu=replace(cpu, shared=CpuSet.parse("0-2")), numa=(0,))
    node.dies_after = None
    node.run()
    assert node.calls == ["shared 0-1", "offline cpu3", "shared 0-1", "offline cpu2"]


def test_nothing_is_restored_before_the_node_has_followed() -> None:
    node = Node(EARLY)
    node.stubborn = {"memory6"}
    node.step()
    node.published = False
    node.step()
    last = node.step()
    assert (last.state.phase, last.refused, last.ceiling) == ("restoring", "", {})
    node.published = True
    assert node.step().refused == "memory6 cannot be taken offline: EBUSY: no"


def test_a_part_that_does_not_come_back_holds_nobody_up() -> None:
    node = Node(EARLY)
    node.run()
    node.stubborn, node.wish = {"memory7"}, ""
    assert node.run().state == Prepared()
    assert node.calls[3:] == ["online memory7", "online memory6", "online cpu3"]


def test_who_is_on_its_way_out_is_still_here() -> None:
    """Also for an agent that does not remember that it asked."""
    node = Node(EARLY, replace(LATE, leaving=True))
    assert (node.step().steps, node.state.phase) == ((), "evicting")
    node.tenants = (EARLY,)
    node.step()
    assert node.state.phase == "offlining"


def test_somebody_who_came_in_spite_of_all_leaves_first() -> None:
    node = Node(EARLY)
    node.dies_after = 2
    node.step()
    node.dies_after, node.tenants = None, (EARLY, LATE)
    node.run()
    assert (node.calls, node.state.phase) == (["offline memory7", "evict late"], "evicting")
    assert prepared.kept_offline(node.state) == set(node.state.parts)
    node.tenants = (EARLY,)
    node.run()
    assert node.state.phase == "ready"


def test_nothing_goes_while_pods_use_it() -> None:
    """However little they request: the kernel would kill them."""
    node = Node(EARLY)
    node.used = 6 * GIB
    assert node.run().refused == "pods use 6Gi of memory, and 5Gi would be left for them"
    assert (node.calls, node.machine) == ([], FULL)


def test_a_node_that_must_not_shrink_says_so() -> None:
    node = Node(EARLY, resize=ResizeSettings(plug=True))
    assert node.step().refused == "the feature gate NodeResourceHotUnPlug is off"
    assert node.calls == []


def test_what_makes_no_sense_is_refused_at_once() -> None:
    node = Node(nodes.tenant("etcd", ",6Gi", static=True))
    assert node.step().refused == "static and critical pods need more than would be left, and they never leave"
    node = Node()
    node.wish = '{"cpu": "none"}'
    assert "cannot read annotation" in node.step().refused
    node = Node(machine=nodes.machine())
    assert node.step().refused == "this machine's memory has no blocks that can be taken offline"
    assert not node.calls


def test_a_wish_for_as_much_as_there_is_is_served_already() -> None:
    node = Node()
    node.wish = '{"cpu": "8", "memory": "8Gi"}'
    assert node.step() == Decision(state=Prepared(wish=node.wish))


def test_less_than_a_block_is_left_to_whoever_asked() -> None:
    """Nothing can be taken offline; the node makes room, and waits until the machine has less."""
    node = Node(EARLY)
    node.wish = '{"memory": "7680Mi"}'
    assert node.run().unplug_ready == 1
    node.machine = nodes.machine(memory="7680Mi", **BLOCKS)
    assert node.step() == Decision(state=Prepared(wish=node.wish))


def test_half_plugged_parts_of_others_are_not_ours() -> None:
    node = Node(EARLY, machine=replace(FULL, half_plugged=HalfPlugged(offline_cpus=CpuSet.of([9]))))
    node.stubborn = {"memory7"}
    node.run()
    assert node.calls == ["offline memory7"]
