"""A node that is told of an unplug before it happens (node-resize.md §4.8), from the annotation to the parts."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from tests.engine.agent.world import World, amounts, is_gone, is_ready, world

from flexlet.core.hotplug import saved
from flexlet.core.hotplug.preparing import Prepared
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.managers.files import CPU_FILE
from flexlet.core.refs import BUDGETS
from flexlet.errors import HostError
from flexlet.ports.cluster import NODES, Ref
from flexlet.testing import NodeOptions, SimHost, idle, run

Json = dict[str, Any]

GIB: Final = 1 << 30
CONFIG: Final = {
    "kubeReserved": {"cpu": "500m", "memory": "512Mi"},
    "systemReserved": {"cpu": "500m", "memory": "512Mi"},
    "evictionHard": {"memory.available": "100Mi"},
}
STATIC: Final = CONFIG | {"cpuManagerPolicy": "static"}
RESIZE: Final = ResizeSettings(plug=True, unplug=True)
REPLACED: Final = ResizeSettings(plug=True, unplug=True, prepare_s=20.0)
FOUR: Final = '{"cpu":"2","memory":"4Gi"}'
B: Final = amounts("500m,2Gi", "1,4Gi")
G1: Final = amounts("1,1Gi", "1,1Gi")
STUBBORN: Final = {
    "resources": amounts("100m,3Gi"),
    "command": ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"],
}
BUDGET: Final = {
    "metadata": {"name": "keep"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "big"}}},
}
WHOLE: Final = {"cpu": "3", "memory": "7068Mi"}
LESS: Final = {"cpu": "1", "memory": "2972Mi"}


def node(config: Json = CONFIG, resize: ResizeSettings = RESIZE) -> NodeOptions:
    return NodeOptions(hardware=SimHost("0-3", 8 * GIB), config=config, resize=resize)


class Stage:
    """A node and what is asked of it."""

    def __init__(self, there: World) -> None:
        self.there = there
        self.host = there.node.host

    async def wish(self, text: str | None) -> None:
        patch = {"metadata": {"annotations": {"flexlet.io/desired-capacity": text}}}
        await self.there.cluster.cluster.patch(NODES, "", "node-a", patch)

    async def node(self) -> Json:
        found: Json = msgspec.json.decode(await self.there.cluster.cluster.get(NODES, "", "node-a"))
        return found

    async def offer(self) -> Json:
        """What schedulers and people see of the node."""
        found = await self.node()
        allocatable = found["status"]["allocatable"]
        resize = next(each for each in found["status"]["conditions"] if each["type"] == "NodeResize")
        notes = found["metadata"]["annotations"]
        return {
            "allocatable": {name: allocatable[name] for name in ("cpu", "memory")},
            "closed": any(each["key"] == "flexlet.io/resizing" for each in found["spec"].get("taints", ())),
            "reason": resize["reason"],
            "ready": notes.get("flexlet.io/unplug-ready"),
            "generation": notes["flexlet.io/generation"],
        }

    async def until(self, holds: Callable[[Json], bool], within_s: float = 60.0) -> Json:
        """Wait until the node says so."""
        end = asyncio.get_running_loop().time() + within_s
        while not holds(found := await self.offer()):
            assert asyncio.get_running_loop().time() < end, found
            await self.passes(0.25)
        return found

    async def passes(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await idle()

    async def message(self) -> str:
        """Of the condition."""
        conditions = (await self.node())["status"]["conditions"]
        return str(next(each["message"] for each in conditions if each["type"] == "NodeResize"))

    def book(self) -> tuple[str, Json]:
        """The shared CPUs and the others by pod."""
        found = msgspec.json.decode(self.there.node.checkpoints.files[CPU_FILE])
        return found["defaultCpuSet"], found.get("entries", {})

    def pinned(self, uid: str) -> str:
        return self.there.node.pod_cgroups(uid)["a"]["cpuset.cpus"]

    def parts(self) -> tuple[int, int]:
        """CPUs and blocks that are online."""
        return len(self.host.awake), sum(state == "online" for state in self.host.blocks.values())

    def remove(self) -> None:
        """What is offline is taken out of the machine."""
        self.host.unplug_cpus(self.host.present - self.host.awake)
        self.host.unplug_blocks([block for block, state in self.host.blocks.items() if state == "offline"])

    def prepared(self) -> Prepared:
        """What the file says of it."""
        found = saved.parse(self.there.node.checkpoints.files[saved.FILE])
        assert isinstance(found, saved.Saved)
        return found.prepared

    async def told(self, name: str) -> list[tuple[str, str]]:
        found = await self.there.cluster.events()
        return [(e["reason"], e["message"]) for e in found if e["involvedObject"]["name"] == name]


def is_ready_to_unplug(found: Json) -> bool:
    return found["ready"] is not None


def is_refused(found: Json) -> bool:
    return bool(found["reason"] == "UnplugRefused")


def is_closing(found: Json) -> bool:
    return bool(found["allocatable"] == LESS)


async def _served(directory: Path) -> None:
    async with world(directory, node()) as there:
        stage = Stage(there)
        await there.create("web", {"a": B})
        await there.until("web", is_ready)
        await stage.wish(FOUR)
        found = await stage.until(is_ready_to_unplug)
        assert found == {
            "allocatable": LESS,
            "closed": False,
            "reason": "InProgress",
            "ready": found["generation"],
            "generation": found["generation"],
        }
        assert stage.parts() == (2, 32)
        stage.remove()
        await stage.passes(5)
        await stage.wish(None)
        await stage.passes(5)
        assert await stage.offer() == found | {"reason": "Stable", "ready": None}
        assert stage.parts() == (2, 32)
        assert is_ready(await there.get("web"))
        assert stage.prepared() == Prepared()
        assert [reason for reason, _ in await stage.told("web")].count("NodeCapacityExceeded") == 0
        # Once for memory and once for the CPUs, and not again when the parts are gone.
        assert [reason for reason, _ in await stage.told("node-a")].count("NodeResized") == 2


def test_a_node_with_room_gets_ready_and_nobody_is_hurt(tmp_path: Path) -> None:
    """Less is offered, parts go offline, and it says so; when they are gone it is a smaller node at rest."""
    run(_served(tmp_path))


@asynccontextmanager
async def staged(directory: Path, options: NodeOptions | None = None) -> AsyncIterator[Stage]:
    """A node of four CPUs and 8Gi with one small pod."""
    async with world(directory, options or node()) as there:
        await there.create("web", {"a": B})
        await there.until("web", is_ready)
        yield Stage(there)
        assert is_ready(await there.get("web")), "nobody had a reason to end it"


async def _refused(directory: Path) -> None:
    async with staged(directory) as stage:
        stage.host.refuse("memory40", errno.EBUSY)
        await stage.wish('{"memory":"4Gi"}')
        found = await stage.until(is_refused)
        assert found == {
            "allocatable": WHOLE,
            "closed": False,
            "reason": "UnplugRefused",
            "ready": None,
            "generation": found["generation"],
        }
        assert stage.parts() == (4, 64)
        switch = "/sys/devices/system/memory/memory40/state"
        why = f"memory40 cannot be taken offline: EBUSY: cannot write offline to {switch}: EBUSY"
        assert await stage.message() == why
        assert ("UnplugRefused", why) in await stage.told("node-a")
        # Not tried again; only another wish is.
        await stage.passes(60)
        assert await stage.offer() == found
        await stage.wish(None)
        assert (await stage.until(lambda found: found["reason"] == "Stable"))["allocatable"] == WHOLE


def test_a_block_that_does_not_go_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """S23: allocatable is restored, UnplugRefused, and nobody was ended because nobody had to make room."""
    run(_refused(tmp_path))


async def _stands_in(directory: Path) -> None:
    options = node()
    assert options.hardware is not None
    options.hardware.movable = set(range(16, 64))
    async with staged(directory, options) as stage:
        stage.host.refuse("memory40", errno.EBUSY)
        await stage.wish('{"memory":"4Gi"}')
        await stage.until(is_ready_to_unplug)
        gone = {block for block, state in stage.host.blocks.items() if state == "offline"}
        assert gone == set(range(31, 64)) - {40}
        await stage.wish(None)
        await stage.until(lambda found: found["reason"] == "Stable")
        assert (stage.parts(), stage.host.movable) == ((4, 64), set(range(16, 64)))


def test_another_movable_block_goes_instead_and_comes_back_movable(tmp_path: Path) -> None:
    run(_stands_in(tmp_path))


async def _forbidden(directory: Path) -> None:
    async with staged(directory) as stage:
        stage.host.refuse("cpu3", errno.EACCES)
        await stage.wish(FOUR)
        found = await stage.until(is_refused)
        assert (found["allocatable"], stage.parts()) == (WHOLE, (4, 64))
        assert "Permission denied" in await stage.message()


def test_a_part_that_nobody_may_switch_brings_the_others_back(tmp_path: Path) -> None:
    """Memory was offline already when the first CPU could not be switched."""
    run(_forbidden(tmp_path))


async def _evicts(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        await there.create("big", {"a": STUBBORN}, {"labels": {"app": "big"}})
        await there.until("big", is_ready)
        await there.cluster.create(Ref(*BUDGETS), BUDGET)
        await stage.wish('{"memory":"4Gi"}')
        await stage.until(is_closing_memory)
        await stage.passes(30)
        # The budget forbids it: nothing is touched, and it is asked again.
        assert (is_ready(await there.get("big")), stage.parts()) == (True, (4, 64))
        allowed = {"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1}}
        await there.cluster.cluster.patch(Ref(*BUDGETS), "default", "keep", allowed, subresource="status")
        found = await there.until("big", lambda found: found is None or "deletionTimestamp" in found["metadata"])
        reasons = [each["reason"] for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
        assert (reasons, found["metadata"]["deletionGracePeriodSeconds"]) == (["EvictionByEvictionAPI"], 5)
        assert stage.parts() == (4, 64)
        await there.until("big", is_gone)
        await stage.until(is_ready_to_unplug)
        assert stage.parts() == (4, 32)


def is_closing_memory(found: Json) -> bool:
    return bool(found["allocatable"] == {"cpu": "3", "memory": LESS["memory"]})


def test_pods_leave_by_eviction_and_budgets_are_respected(tmp_path: Path) -> None:
    """Whoever would not fit goes with all its grace; parts go only when it is gone."""
    run(_evicts(tmp_path))


async def _stays(directory: Path) -> None:
    async with staged(directory, node(resize=REPLACED)) as stage:
        there = stage.there
        await there.create("big", {"a": STUBBORN}, {"labels": {"app": "big"}})
        await there.until("big", is_ready)
        await there.cluster.create(Ref(*BUDGETS), BUDGET)
        await stage.wish('{"memory":"4Gi"}')
        found = await stage.until(is_refused)
        assert (found["allocatable"], stage.parts()) == (WHOLE, (4, 64))
        assert await stage.message() == "pods did not leave in time"
        assert is_ready(await there.get("big"))


def test_a_budget_that_never_allows_it_ends_the_attempt(tmp_path: Path) -> None:
    run(_stays(tmp_path))


async def _lost(directory: Path) -> None:
    async with staged(directory) as stage:
        stage.host.udev.clear()
        await stage.wish(FOUR)
        await stage.until(is_ready_to_unplug)
        stage.host.refuse("memory50", errno.EBUSY)
        stage.host.refuse("cpu3", errno.EBUSY)
        await stage.wish(None)
        found = await stage.until(lambda found: found["reason"] == "HalfPlugged")
        assert (found["allocatable"], stage.parts()) == ({"cpu": "2", "memory": "6940Mi"}, (3, 63))
        assert await stage.message() == "CPUs 3 there and offline; 1 block of memory there and offline"


def test_parts_that_do_not_come_back_are_told(tmp_path: Path) -> None:
    """They are half-plugged like any others that nobody brings online."""
    run(_lost(tmp_path))


async def _abandoned(directory: Path) -> None:
    async with staged(directory, node(resize=REPLACED)) as stage:
        await stage.wish(FOUR)
        await stage.until(is_ready_to_unplug)
        found = await stage.until(is_refused)
        assert (found["allocatable"], found["ready"], stage.parts()) == (WHOLE, None, (4, 64))
        assert await stage.message() == "nobody removed the parts in time"


def test_parts_that_nobody_removes_come_back(tmp_path: Path) -> None:
    run(_abandoned(tmp_path))


async def _newcomer(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        there.let_through("NodeRestriction")
        await stage.wish(FOUR)
        found = await stage.until(is_ready_to_unplug)
        assert (found["closed"], found["allocatable"]) == (True, LESS)
        await there.create("late", {"a": amounts("100m,1Gi")})
        late = await there.until("late", lambda found: found is not None and found["status"]["phase"] == "Failed")
        assert late["status"]["reason"] == "OutOfmemory"
        await stage.wish(None)
        found = await stage.until(lambda found: found["reason"] == "Stable")
        assert found == {
            "allocatable": WHOLE,
            "closed": False,
            "reason": "Stable",
            "ready": None,
            "generation": found["generation"],
        }
        await there.create("later", {"a": amounts("100m,1Gi")})
        await there.until("later", is_ready)


def test_nobody_comes_into_what_is_about_to_go(tmp_path: Path) -> None:
    """Neither by the scheduler, who sees less and a taint, nor past it; a withdrawn wish gives it all back."""
    run(_newcomer(tmp_path))


NONSENSE = [
    ("four", "cannot read annotation flexlet.io/desired-capacity 'four'"),
    ('{"cpu":"0"}', "something must be left"),
    ('{"memory":"256Mi"}', "reserved for daemons"),
    ('{"pods":"3"}', "names pods; only cpu and memory can be unplugged"),
]


async def _nonsense(directory: Path) -> None:
    async with staged(directory) as stage:
        for text, why in NONSENSE:
            await stage.wish(text)
            await stage.passes(2)
            assert why in await stage.message()
            assert (await stage.offer())["allocatable"] == WHOLE
        assert stage.parts() == (4, 64)


def test_a_wish_that_makes_no_sense_is_refused_with_a_sentence(tmp_path: Path) -> None:
    run(_nonsense(tmp_path))


async def _gated(directory: Path) -> None:
    async with staged(directory, node(resize=ResizeSettings(plug=True))) as stage:
        await stage.wish(FOUR)
        await stage.until(is_refused)
        assert await stage.message() == "the feature gate NodeResourceHotUnPlug is off"


def test_a_node_that_must_not_shrink_refuses(tmp_path: Path) -> None:
    run(_gated(tmp_path))


async def _drained(directory: Path) -> None:
    async with world(directory, node(STATIC)) as there:
        stage = Stage(there)
        for name in ("a", "b", "c"):
            await there.create(name, {"a": G1})
            await there.until(name, is_ready)
        for name in ("a", "b"):
            await there.cluster.delete(name)
            await there.until(name, is_gone)
        await stage.passes(5)
        uid = (await there.get("c") or {})["metadata"]["uid"]
        assert (stage.book(), stage.pinned(uid)) == (("0-2", {uid: {"a": "3"}}), "3")
        await stage.wish('{"cpu":"2"}')
        await stage.until(is_ready_to_unplug)
        assert (stage.book(), stage.pinned(uid)) == (("0", {uid: {"a": "1"}}), "1")
        assert ("ExclusiveCPUsReassigned", "Container a: exclusive CPUs 3→1") in await stage.told("c")
        assert (stage.parts()[0], is_ready(await there.get("c"))) == (2, True)
        await stage.wish(None)
        await stage.until(lambda found: found["reason"] == "Stable")
        assert (stage.book(), stage.pinned(uid)) == (("0,2-3", {uid: {"a": "1"}}), "1")


def test_containers_move_off_cpus_before_they_go(tmp_path: Path) -> None:
    """Static CPU manager: the container has other CPUs of its own before its old ones are offline."""
    run(_drained(tmp_path))


async def _outlived(directory: Path) -> None:
    async with staged(directory) as stage:
        node_a = stage.there.node
        await stage.wish(FOUR)
        ready = await stage.until(is_ready_to_unplug)
        await node_a.kill()
        stage.host.udev.clear()
        await node_a.start()
        await stage.passes(30)
        # Nobody brought the parts online, and nothing was offered meanwhile that is about to go.
        assert (await stage.offer(), stage.parts()) == (ready, (2, 32))
        await node_a.kill()
        await stage.wish(None)
        await node_a.start()
        found = await stage.until(lambda found: found["reason"] == "Stable" and found["ready"] is None)
        assert (found["allocatable"], stage.parts(), stage.prepared()) == (WHOLE, (4, 64), Prepared())


def test_the_next_agent_keeps_the_promise_and_takes_it_back(tmp_path: Path) -> None:
    run(_outlived(tmp_path))


async def _removed_meanwhile(directory: Path) -> None:
    async with staged(directory) as stage:
        await stage.wish(FOUR)
        ready = await stage.until(is_ready_to_unplug)
        await stage.there.node.kill()
        stage.remove()
        await stage.wish(None)
        await stage.there.node.start()
        await stage.passes(10)
        assert await stage.offer() == ready | {"reason": "Stable", "ready": None}


def test_parts_are_removed_while_no_agent_runs(tmp_path: Path) -> None:
    run(_removed_meanwhile(tmp_path))


NUMA: Final = {
    "evictionHard": {"memory.available": "0%"},
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": node, "limits": {"memory": "512Mi"}} for node in (0, 1)],
    "kubeReserved": {"memory": "1Gi"},
}


async def _on_nodes(directory: Path) -> None:
    host = SimHost("0-3", 8 * GIB, numa=("0-1", "2-3"))
    async with world(directory, NodeOptions(hardware=host, config=NUMA, resize=RESIZE)) as there:
        stage = Stage(there)
        uids = {}
        for name, size in (("left", "100m,1Gi"), ("right", "100m,3Gi")):
            uids[name] = await there.create(name, {"a": amounts(size, size)})
            await there.until(name, is_ready)
        mems = {name: there.node.pod_cgroups(uid)["a"]["cpuset.mems"] for name, uid in uids.items()}
        assert mems == {"left": "0", "right": "1"}
        await stage.wish('{"memory":"6Gi"}')
        await there.until("right", is_gone)
        await stage.until(is_ready_to_unplug)
        assert host.nodes == {0: 4 * GIB, 1: 2 * GIB}
        assert not {"NodeCapacityExceeded", "OutOfmemory"} & {reason for reason, _ in await stage.told("right")}
        assert is_ready(await there.get("left"))


def test_who_is_bound_to_memory_that_goes_is_evicted_not_ended(tmp_path: Path) -> None:
    """There is room for all, but not on the NUMA node that loses it."""
    run(_on_nodes(tmp_path))


async def _out_of_reach(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        await there.create("big", {"a": STUBBORN})
        await there.until("big", is_ready)
        await stage.wish('{"memory":"4Gi"}')
        await stage.passes(0.01)
        there.node.reach.is_away = True
        await stage.passes(60)
        assert stage.parts() == (4, 64)
        there.node.reach.is_away = False
        await stage.until(is_ready_to_unplug, 120)
        assert (await there.get("big"), stage.parts()) == (None, (4, 32))


def test_an_api_that_is_away_only_takes_time(tmp_path: Path) -> None:
    run(_out_of_reach(tmp_path))


async def _full_disk(directory: Path, full: str) -> None:
    async with world(directory, node(STATIC)) as there:
        stage = Stage(there)
        checkpoints = there.node.checkpoints
        save = checkpoints.save

        async def refusing(name: str, data: bytes) -> None:
            if name == full:
                raise HostError(f"cannot write {name}: No space left on device")
            await save(name, data)

        checkpoints.save = refusing  # type: ignore[method-assign]
        await stage.wish(FOUR)
        await stage.passes(20)
        assert stage.parts()[0] == 4
        checkpoints.save = save  # type: ignore[method-assign]
        found = await stage.until(is_ready_to_unplug)
        assert (found["allocatable"], stage.parts(), stage.book()) == (LESS, (2, 32), ("0-1", {}))


@pytest.mark.parametrize("full", [saved.FILE, CPU_FILE])
def test_nothing_goes_before_it_is_on_disk(full: str, tmp_path: Path) -> None:
    run(_full_disk(tmp_path, full))


async def _hungry(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        await there.create("hungry", {"a": amounts("100m,512Mi")})
        uid = (await there.until("hungry", is_ready))["metadata"]["uid"]
        cgroup = there.node.sim.kernel.machine.cgroups[there.node.containers(uid)["a"].cgroup]
        cgroup.shmem = 5 * GIB
        await stage.wish('{"memory":"4Gi"}')
        await stage.passes(30)
        assert (there.node.cgroup("kubepods")["memory.high"], stage.parts()) == (str(3 * GIB), (4, 64))
        found = await stage.until(is_refused, 120)
        assert (found["allocatable"], stage.parts()) == (WHOLE, (4, 64))
        assert await stage.message() == "pods use 5Gi of memory, and 3Gi would be left for them"
        assert there.node.cgroup("kubepods")["memory.high"] == "max"
        await stage.wish('{"memory": "4Gi"}')
        await stage.passes(30)
        cgroup.shmem = GIB
        await stage.until(is_ready_to_unplug)
        assert there.node.cgroup("kubepods")["memory.high"] == "max"
        hungry = await there.get("hungry") or {}
        assert [each["restartCount"] for each in hungry["status"]["containerStatuses"]] == [0]


def test_memory_that_pods_use_is_not_taken_from_them(tmp_path: Path) -> None:
    """They are squeezed for a while, and if that does not help the memory stays; nobody is killed."""
    run(_hungry(tmp_path))
