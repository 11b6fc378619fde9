import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
import pytest

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Part
from flexlet.engine.agent.detecting import Detecting
from flexlet.errors import HostError, HostUnsupported
from flexlet.ports.uevents import Overrun, Uevent
from flexlet.testing import SimClock, idle, run
from flexlet.testing.host import SimHost

if TYPE_CHECKING:
    from flexlet.core.detection.steps import Note

ON = ResizeSettings(plug=True, unplug=True)


class Deafness:
    """A host on which nobody hears the kernel."""

    def events(self) -> AsyncIterator[Uevent | Overrun]:
        raise HostUnsupported("no socket")

    def changes(self) -> AsyncIterator[None]:
        raise HostUnsupported("no file")


class Stage:
    """A machine, the duty that watches it, and what came of it."""

    def __init__(self, host: SimHost, settings: ResizeSettings = ON, *, is_deaf: bool = False) -> None:
        self.host = host
        self.clock = SimClock()
        self.applied: list[tuple[float, str, int, int]] = []
        self.notes: list[Note] = []
        self.seen: list[Machine] = []
        hints = Deafness() if is_deaf else host
        reserved = {"memory": Quantity.of_bytes(1124 * MIB)}
        self.duty = Detecting(host, hints, hints, host, self.clock, settings, "/var", reserved=reserved)
        self.duty.apply, self.duty.noted = self._apply, self.notes.append

    def _apply(self, machine: Machine, seen_at: float) -> None:
        assert seen_at <= self.clock.monotonic()
        self.seen.append(machine)
        now = round(self.clock.monotonic(), 3)
        self.applied.append((now, str(machine.online), machine.memory, machine.swap))

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Stage"]:
        await self.duty.first()
        task = asyncio.create_task(self.duty.run())
        await idle()
        yield self
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)


Story = Callable[[Stage], Awaitable[None]]


def play(
    story: Story, host: SimHost | None = None, settings: ResizeSettings = ON, *, is_deaf: bool = False
) -> Stage:
    async def told() -> Stage:
        stage = Stage(host or SimHost("0-3", 8 * GIB), settings, is_deaf=is_deaf)
        async with stage.running():
            await story(stage)
        return stage

    return run(told())


def test_plugging_is_one_change() -> None:
    """CPUs and memory in 72 events: one machine, half a second after the last event."""

    async def story(at: Stage) -> None:
        at.host.plug_cpus(4)
        at.host.plug_memory(8 * GIB)
        await at.sleep(5)

    stage = play(story)
    assert stage.applied == [(0.5, "0-7", 16 * GIB, 0)]
    assert stage.duty.uevents == {
        ("cpu", "add"): 4,
        ("cpu", "online"): 4,
        ("memory", "add"): 64,
        ("memory", "online"): 64,
    }


def test_unplugging_is_quicker() -> None:
    async def story(at: Stage) -> None:
        at.host.unplug_cpus(1)
        at.host.unplug_memory(2 * GIB)
        await at.sleep(5)

    assert play(story).applied == [(0.1, "0-2", 6 * GIB, 0)]


def test_swap_is_heard_of() -> None:
    """S10: on, off, and another; each is a change of its own."""

    async def story(at: Stage) -> None:
        at.host.swapoff()
        await at.sleep(2)
        at.host.swapon(8 * GIB)
        await at.sleep(2)

    host = SimHost("0-3", 8 * GIB, swap=4 * GIB)
    assert play(story, host).applied == [(0.1, "0-3", 8 * GIB, 0), (2.5, "0-3", 8 * GIB, 8 * GIB)]


def test_silent_changes_are_found_by_looking() -> None:
    """Memory that only becomes more or less, and huge pages."""

    async def story(at: Stage) -> None:
        at.host.set_memory(9 * GIB)
        await at.sleep(15)
        at.host.set_hugepages(2 * MIB, 512)
        await at.sleep(15)

    stage = play(story)
    assert [at for at, *_ in stage.applied] == [10.5, 20.5]
    assert stage.seen[-1].hugepages == {2 * MIB: 512, GIB: 0}


def test_somebody_says_look_again() -> None:
    async def story(at: Stage) -> None:
        at.host.set_memory(9 * GIB)
        at.duty.look_again()
        await at.sleep(1)

    assert play(story).applied == [(0.5, "0-3", 9 * GIB, 0)]


def test_a_quiet_node_costs_next_to_nothing() -> None:
    """A handful of files every ten seconds, of hundreds that a machine has."""

    async def story(at: Stage) -> None:
        at.host.looks.clear()
        await at.sleep(101)

    stage = play(story, SimHost("0-63", 64 * GIB))
    assert (len(stage.host.looks), max(stage.host.looks)) == (10, 15)


def test_a_storm_is_absorbed() -> None:
    """5,000 events: all counted, one change, two looks."""

    async def story(at: Stage) -> None:
        at.host.looks.clear()
        for turn in range(625):
            at.host.plug_cpus([4, 5])
            at.host.unplug_cpus([4, 5])
            if turn % 100 == 0:
                await at.sleep(0.05)
        at.host.plug_cpus([4])
        await at.sleep(20)

    stage = play(story)
    assert stage.applied == [(0.85, "0-4", 8 * GIB, 0)]
    assert sum(stage.duty.uevents.values()) == 5002
    assert len(stage.host.looks) <= 6


def test_flapping() -> None:
    """S15: 8 and 16 GiB in turn, 20 times in two seconds."""

    async def story(at: Stage) -> None:
        for _ in range(10):
            at.host.plug_memory(8 * GIB)
            await at.sleep(0.1)
            at.host.unplug_memory(8 * GIB)
            await at.sleep(0.1)
        at.host.plug_memory(8 * GIB)
        await at.sleep(20)

    stage = play(story)
    assert 1 <= len(stage.applied) <= 2
    assert stage.applied[-1][1:] == ("0-3", 16 * GIB, 0)


def test_lost_events_are_looked_up() -> None:
    async def story(at: Stage) -> None:
        at.host.blocks[64] = "offline"
        at.host.overrun()
        await at.sleep(5)

    stage = play(story, SimHost("0-3", 8 * GIB, auto_online="offline"))
    assert stage.duty.overruns == 1
    assert stage.applied == [(3.0, "0-3", 8 * GIB + 128 * MIB, 0)]


def test_without_events_the_node_looks_for_itself() -> None:
    """Everything each time: offline blocks show in no size."""

    async def story(at: Stage) -> None:
        at.host.plug_memory(GIB)
        await at.sleep(20)

    stage = play(story, SimHost("0-3", 8 * GIB, auto_online="offline"), is_deaf=True)
    assert stage.applied == [(12.5, "0-3", 9 * GIB, 0)]


def test_plugged_parts_are_brought_online() -> None:
    """Neither the kernel nor udev does it, so the node does after its grace; a half-plugged state is over then."""

    async def story(at: Stage) -> None:
        at.host.plug_cpus(4)
        at.host.plug_memory(8 * GIB)
        await at.sleep(1)
        assert at.duty.half_plugged() == {"cpu": 4, "memory": 64}
        await at.sleep(9)
        assert at.duty.half_plugged() == {"cpu": 0, "memory": 0}

    stage = play(story, SimHost("0-3", 8 * GIB, auto_online="offline", udev=()))
    assert stage.applied[-1][1:] == ("0-7", 16 * GIB, 0)
    assert len(stage.applied) <= 2
    assert stage.notes == []


@pytest.mark.parametrize(("policy", "memory"), [("none", 8 * GIB), ("memory", 16 * GIB)])
def test_memory_that_nobody_brings_online(policy: str, memory: int) -> None:
    """S14."""

    async def story(at: Stage) -> None:
        at.host.plug_memory(8 * GIB)
        await at.sleep(10)

    settings = msgspec.structs.replace(ON, online_policy=policy)
    stage = play(story, SimHost("0-3", 8 * GIB, auto_online="offline"), settings)
    assert [size for *_, size, _ in stage.applied] == ([] if policy == "none" else [memory])
    assert [note.reason for note in stage.notes] == (["HalfPlugged"] if policy == "none" else [])


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EACCES])
def test_a_part_that_does_not_come_online(number: int) -> None:
    """A refusal and a lack of rights end alike: it is told, and told when it is over."""

    async def story(at: Stage) -> None:
        at.host.refuse("cpu4", number)
        at.host.plug_cpus(1)
        await at.sleep(10)
        at.host.refusals.clear()
        await at.host.online(Part("cpu", 4))
        await at.sleep(1)

    stage = play(story, SimHost("0-3", 8 * GIB, udev=()))
    assert [note.reason for note in stage.notes] == ["HalfPlugged", "Stable"]
    assert stage.notes[0].message.startswith(
        "cpu4 plugged and offline: the kernel does not bring them online: cannot "
    )
    assert stage.applied == [(10.5, "0-4", 8 * GIB, 0)]


def test_cpus_taken_offline_on_purpose_stay_so() -> None:
    """Also S12: as many CPUs as before, and others."""

    async def story(at: Stage) -> None:
        await at.host.offline(Part("cpu", 3), 1)
        await at.host.online(Part("cpu", 4))
        await at.sleep(9)

    host = SimHost("0-4", 8 * GIB, udev=())
    host.awake.discard(4)
    assert play(story, host, msgspec.structs.replace(ON, keep_offline=("cpu4",))).applied == [
        (0.5, "0-2,4", 8 * GIB, 0)
    ]


def test_a_cpu_that_has_yet_to_say_where_it_sits() -> None:
    async def story(at: Stage) -> None:
        at.host.settling.add(4)
        at.host.plug_cpus(1)
        await at.sleep(1.1)
        at.host.settle()
        await at.sleep(2)

    stage = play(story)
    assert [cpus for _, cpus, *_ in stage.applied] == ["0-4"]
    assert stage.applied[0][0] <= 2


def test_too_little_is_read_three_times() -> None:
    """S19."""

    async def story(at: Stage) -> None:
        at.host.unplug_memory(7 * GIB)
        await at.sleep(9)

    assert play(story).applied == [(5.1, "0-3", GIB, 0)]


def test_a_machine_that_cannot_be_read() -> None:
    """It stays as it was known, errors are counted, and the look is repeated."""

    async def story(at: Stage) -> None:
        at.host.is_unreadable = True
        at.host.plug_cpus(1)
        await at.sleep(3)
        at.host.is_unreadable = False
        await at.sleep(3)

    stage = play(story)
    assert [cpus for _, cpus, *_ in stage.applied] == ["0-4"]
    assert stage.duty.failed_reads >= 3


def test_a_first_look_that_fails_is_an_error() -> None:
    host = SimHost()
    host.is_unreadable = True

    async def story() -> None:
        with pytest.raises(HostError, match="cannot measure memory"):
            await Stage(host).duty.first()

    run(story())


def test_what_happened_before_anybody_listened() -> None:
    """Between the first look and the beginning of the duty: it is looked up when the duty begins."""

    async def told() -> Stage:
        stage = Stage(SimHost("0-3", 8 * GIB))
        await stage.duty.first()
        await stage.sleep(3)
        stage.host.plug_cpus(1)
        task = asyncio.create_task(stage.duty.run())
        await stage.sleep(1)
        task.cancel()
        await asyncio.wait({task})
        return stage

    assert run(told()).applied == [(3.5, "0-4", 8 * GIB, 0)]


def test_without_the_gate_nothing_is_looked_at() -> None:
    """S22."""

    async def story(at: Stage) -> None:
        at.host.looks.clear()
        at.host.plug_cpus(4)
        at.duty.look_again()
        await at.sleep(100)

    stage = play(story, settings=ResizeSettings())
    assert (stage.applied, stage.host.looks) == ([], [])


def test_a_numa_node_comes_and_goes() -> None:
    async def story(at: Stage) -> None:
        at.host.plug_node(1, 4 * GIB)
        await at.sleep(2)
        at.host.unplug_node(1)
        await at.sleep(2)

    stage = play(story)
    assert [[node.id for node in machine.numa] for machine in stage.seen] == [[0, 1], [0]]
    assert stage.seen[0].online == CpuSet.parse("0-3")


def test_parts_are_left_to_whoever_took_them() -> None:
    """An unplug in preparation: the duty does not bring back what another hand takes offline."""

    async def story(at: Stage) -> None:
        at.duty.leave_offline([Part("cpu", 4)])
        await at.sleep(9)

    host = SimHost("0-4", 8 * GIB, udev=())
    host.awake.discard(4)
    assert play(story, host).applied == []
