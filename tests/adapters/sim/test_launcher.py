"""Simulated launchers do what QEMU and a launcher do, in simulated time."""

import asyncio

import msgspec
import pytest
from tests.adapters.sim.launcherpods import Pods

from flexlet.adapters.sim.launcher import SimLaunchers
from flexlet.adapters.sim.launcherguest import SimGuest
from flexlet.adapters.sim.launchertemper import Temper
from flexlet.api.units import GIB, MIB
from flexlet.core.vm import names
from flexlet.core.vm.guest import Answer, Listen, Machine, MigrateTo, PowerDown, Report, SetSize
from flexlet.errors import HypervisorGone
from flexlet.testing.simtime import SimClock, run

MACHINE = Machine(name="db", sockets=4, max_sockets=16, min_memory=4 * GIB, memory=8 * GIB, max_memory=16 * GIB)


def started(temper: Temper | None = None, machine: Machine = MACHINE) -> SimGuest:
    guest = SimGuest(machine, temper or Temper(), 0.0)
    guest.advance(1.0)
    return guest


def sizes(guest: SimGuest) -> tuple[int, float, float]:
    report = guest.report()
    return report.vcpus, report.memory / GIB, report.requested / GIB


def test_a_machine_starts_with_its_size() -> None:
    guest = SimGuest(MACHINE, Temper(), 0.0)
    assert guest.report().run_state == "Starting"
    guest.advance(0.5)
    assert guest.report() == Report(
        run_state="Running",
        vcpus=4,
        vcpus_online=4,
        memory=8 * GIB,
        requested=8 * GIB,
        accelerator="simulated",
    )


def test_it_grows_step_by_step_and_no_sooner_than_it_can() -> None:
    guest = started()
    guest.obey(SetSize("1", 6, 16 * GIB), 1.0)
    assert sizes(guest) == (4, 8, 16)
    assert (guest.report().cpu, guest.report().ram) == (Answer("Changing"), Answer("Changing"))
    guest.advance(1.15)
    assert sizes(guest) == (5, 8, 16)
    guest.advance(1.6)
    assert sizes(guest) == (6, 12, 16)
    guest.advance(2.0)
    assert sizes(guest) == (6, 16, 16)
    assert (guest.report().order, guest.report().cpu, guest.report().ram) == ("1", Answer(), Answer())
    assert guest.next_at() is None


def test_what_the_guest_cannot_move_stays_and_goes_when_it_can() -> None:
    guest = started(Temper(keeps=3 * GIB // 2))
    guest.obey(SetSize("1", 4, 4 * GIB, 60.0), 1.0)
    guest.advance(50.0)
    assert sizes(guest) == (4, 5.5, 4)
    assert guest.report().ram.progress == "Changing"
    guest.advance(61.0)
    assert guest.report().ram == Answer("Partial", "5632Mi instead of 4Gi: the guest goes on trying")
    guest.temper.keeps = 0
    guest.advance(62.0)
    assert (sizes(guest), guest.report().ram) == ((4, 4, 4), Answer())


def test_a_vcpu_that_is_kept_is_made_up_for_by_another() -> None:
    guest = started(Temper(pinned={3}))
    guest.obey(SetSize("1", 2, 8 * GIB), 1.0)
    guest.advance(2.0)
    assert guest.cpus.slots == {0, 3}
    assert guest.report().cpu == Answer()


def test_the_boot_cpu_cannot_go() -> None:
    guest = started(Temper(pinned={2}))
    guest.obey(SetSize("1", 1, 8 * GIB), 1.0)
    guest.advance(2.0)
    assert guest.cpus.slots == {0, 2}
    why = "2 vCPUs instead of 1: the guest keeps vcpu-2-0-0: the device is busy (ACPI status 130)"
    assert guest.report().cpu == Answer("Partial", why)


def test_a_silent_guest_is_waited_for_and_a_reset_ends_what_it_was_asked() -> None:
    guest = started(Temper(silent={3}))
    guest.obey(SetSize("1", 1, 8 * GIB, 60.0), 1.0)
    guest.advance(31.0)
    assert guest.vcpus == 4
    guest.advance(32.0)
    assert guest.cpus.slots == {0, 3}
    why = "2 vCPUs instead of 1: the guest has not let vcpu-3-0-0 go within 30 s"
    assert guest.report().cpu == Answer("Partial", why)
    guest.reset(70.0)
    assert guest.cpus.slots == {0}


def test_what_the_hypervisor_fails_at_is_tried_again_and_then_no_more() -> None:
    guest = started(Temper(cpu_failures=4, ram_failures=2))
    guest.obey(SetSize("1", 5, 16 * GIB), 1.0)
    guest.advance(1.2)
    assert guest.report().cpu == Answer("Changing", "QEMU refuses device_add: cannot plug vcpu-4-0-0", 1)
    assert guest.report().ram == Answer("Changing", "QEMU refuses qom-set: Cannot allocate memory", 1)
    guest.advance(9.0)
    assert guest.report().cpu == Answer("Failed", "QEMU refuses device_add: cannot plug vcpu-4-0-0", 3)
    assert (guest.report().ram, sizes(guest)) == (Answer(failures=2), (4, 16, 16))
    guest.obey(SetSize("1", 5, 16 * GIB), 10.0)
    guest.advance(12.0)
    assert (guest.report().cpu, guest.vcpus) == (Answer(failures=1), 5)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (8 * GIB + MIB, "8193Mi is not 4Gi and whole blocks of 2Mi"),
        (17 * GIB, "the machine was started for 16Gi at most, not 17Gi"),
        (3 * GIB, "the machine was started with 4Gi that stay"),
    ],
)
def test_sizes_that_cannot_be(memory: int, message: str) -> None:
    guest = started()
    guest.obey(SetSize("1", 20, memory), 1.0)
    guest.advance(5.0)
    assert guest.report().ram == Answer("Failed", message, 3)
    assert guest.report().cpu == Answer("Failed", "the machine was started for 16 vCPUs at most, not 20", 3)
    assert sizes(guest) == (4, 8, 8)


def test_vcpus_come_and_go_in_whole_sockets() -> None:
    machine = msgspec.structs.replace(MACHINE, sockets=2, max_sockets=4, cores=2)
    guest = started(machine=machine)
    assert guest.vcpus == 4
    guest.obey(SetSize("1", 5, 8 * GIB), 1.0)
    guest.advance(2.0)
    assert (guest.vcpus, guest.cpus.slots) == (6, {0, 1, 2})


def test_a_reset_drops_elastic_memory_for_seconds() -> None:
    guest = started()
    guest.obey(SetSize("1", 4, 8 * GIB), 1.0)
    guest.advance(2.0)
    guest.reset(10.0)
    assert (sizes(guest), guest.report().resets) == ((4, 4, 8), 1)
    guest.advance(14.9)
    assert (sizes(guest), guest.report().ram) == ((4, 4, 8), Answer("Changing"))
    guest.advance(16.0)
    assert (sizes(guest), guest.report().ram) == ((4, 8, 8), Answer())


def test_a_guest_without_agent_or_driver() -> None:
    guest = started(Temper(has_agent=False, takes_memory=False))
    guest.obey(SetSize("1", 5, 16 * GIB), 1.0)
    guest.advance(99.0)
    assert (sizes(guest), guest.report().vcpus_online) == ((5, 8, 16), None)
    assert guest.report().ram == Answer("Changing")
    guest.advance(121.0)
    assert guest.report().ram == Answer("Partial", "8Gi instead of 16Gi: the guest goes on trying")
    lazy = started(Temper(onlines=False))
    lazy.obey(SetSize("1", 5, 8 * GIB), 1.0)
    lazy.advance(2.0)
    assert (lazy.report().vcpus, lazy.report().vcpus_online) == (5, 4)


def test_power_down_minds_the_grace_period() -> None:
    for takes, end in ((2.0, 3.0), (None, 31.0)):
        guest = started(Temper(shutdown_s=takes))
        guest.obey(PowerDown(), 1.0)
        guest.advance(end - 0.1)
        assert guest.state == "Running"
        guest.advance(end)
        assert guest.report() == Report(run_state="Ended", exit_code=0)


async def followed(launchers: SimLaunchers, pod: str, seen: list[Report]) -> None:
    async with launchers.open("default", pod) as link:
        async for report in link.reports():
            seen.append(report)  # noqa: PERF401 what was seen counts even if the line breaks


def test_a_line_tells_every_change_at_its_time() -> None:
    async def story() -> None:
        pods, clock = Pods(), SimClock()
        pods.add("db", MACHINE)
        launchers, seen = SimLaunchers(pods, clock), []  # type: ignore[var-annotated, arg-type]
        task = asyncio.create_task(followed(launchers, "db", seen))
        await clock.sleep(1)
        async with launchers.open("default", "db") as link:
            await link.order(SetSize("1", 6, 8 * GIB))
        await clock.sleep(1)
        told = [(r.run_state, r.vcpus, r.cpu.progress) for r in seen]
        assert told == [
            ("Starting", 4, "Settled"),
            ("Running", 4, "Settled"),
            ("Running", 4, "Changing"),
            ("Running", 4, "Changing"),
            ("Running", 5, "Changing"),
            ("Running", 6, "Settled"),
        ]
        await launchers.crash("default", "db")
        await task
        assert seen[-1].run_state == "Ended"
        (patch,) = pods.patches
        terminated = patch["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (patch["status"]["phase"], terminated["exitCode"]) == ("Failed", 139)
        with pytest.raises(HypervisorGone, match="does not run"):
            await followed(launchers, "db", seen)

    run(story())


def test_a_line_breaks_and_the_machine_goes_on() -> None:
    async def story() -> None:
        pods, clock = Pods(), SimClock()
        pods.add("db", MACHINE)
        launchers, seen = SimLaunchers(pods, clock), []  # type: ignore[var-annotated, arg-type]
        task = asyncio.create_task(followed(launchers, "db", seen))
        await clock.sleep(1)
        async with launchers.open("default", "db") as link:
            await link.order(SetSize("1", 8, 8 * GIB))
        launchers.cut("default", "db", restarted=True)
        with pytest.raises(HypervisorGone, match="broke"):
            await task
        seen.clear()
        asyncio.get_running_loop().call_later(1, task.cancel)
        again = asyncio.create_task(followed(launchers, "db", seen))
        await clock.sleep(5)
        assert [(r.order, r.vcpus) for r in seen] == [("", 4)]
        again.cancel()
        with pytest.raises(HypervisorGone, match="there is no pod other"):
            await followed(launchers, "other", seen)

    run(story())


def test_a_machine_moves_with_the_time_its_memory_takes() -> None:
    async def story() -> None:
        pods, clock = Pods(), SimClock()
        pods.add("from", MACHINE)
        pods.add("to", msgspec.structs.replace(MACHINE, incoming=True), "10.0.0.2")
        launchers = SimLaunchers(pods, clock, Temper(bandwidth=128 * MIB))  # type: ignore[arg-type]
        seen: dict[str, list[Report]] = {"from": [], "to": []}
        tasks = [asyncio.create_task(followed(launchers, pod, told)) for pod, told in seen.items()]
        await clock.sleep(1)
        async with launchers.open("default", "to") as link:
            await link.order(Listen("tcp:0.0.0.0:4444"))
        async with launchers.open("default", "from") as link:
            await link.order(MigrateTo("tcp:10.0.0.2:4444"))
        await clock.sleep(63.9)
        assert seen["from"][-1].move.state == "Active"
        await clock.sleep(0.2)
        move = seen["from"][-1].move
        assert (seen["from"][-1].run_state, move.state, move.total_ms) == ("Migrated", "Completed", 64_000)
        arrived = seen["to"][-1]
        assert (arrived.run_state, arrived.vcpus, arrived.memory) == ("Running", 4, 8 * GIB)
        for task in tasks:
            task.cancel()
        del pods.pods["to"]["metadata"]["labels"][names.MIGRATION_LABEL]
        anew = SimLaunchers(pods, clock)  # type: ignore[arg-type]
        async with anew.open("default", "to") as link:
            assert (await anext(aiter(link.reports()))).run_state == "Starting", "the machine is in it already"

    run(story())
