"""A whole launcher around a QEMU that answers as recorded."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import msgspec
import pytest
from tests.adapters.launcher.stage import (
    PATIENCE_S,
    SMALL,
    fake_qemu,
    guest,
    launched,
    line,
    process,
    stillborn,
)

from flexlet.adapters.launcher import sizing
from flexlet.adapters.launcher.rundir import RunDir
from flexlet.api.units import GIB, MIB
from flexlet.core.vm import control
from flexlet.core.vm.guest import (
    Answer,
    Disk,
    Listen,
    MigrateTo,
    Move,
    PowerDown,
    Report,
    SetSize,
)

pytestmark = pytest.mark.slow


def plain(report: Report) -> Report:
    """A report without what differs from run to run."""
    return msgspec.structs.replace(report, resident=0)


async def test_a_machine_grows_and_shrinks_back(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        first = await it.line.until(lambda report: report.vcpus_online == report.vcpus == 1)
        assert plain(first) == Report(
            run_state="Running", vcpus=1, vcpus_online=1, memory=512 * MIB, requested=512 * MIB, accelerator="tcg"
        )
        await it.line.link.order(SetSize("big", 3, 1536 * MIB))
        big = await it.line.settled("big")
        grown = msgspec.structs.replace(
            plain(first), vcpus=3, vcpus_online=3, memory=1536 * MIB, requested=1536 * MIB, order="big"
        )
        assert plain(big) == grown
        await it.line.link.order(SetSize("small", 1, 512 * MIB))
        small = await it.line.settled("small")
        assert plain(small) == msgspec.structs.replace(plain(first), order="small")


async def test_vcpus_come_one_by_one_and_each_is_told(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        await it.line.link.order(SetSize("1", 4, 512 * MIB))
        await it.line.settled("1")
        counts = [report.vcpus for report in it.line.heard if report.order == "1"]
        assert sorted(set(counts)) == [1, 2, 3, 4]
        assert counts == sorted(counts)


async def test_without_an_agent_nobody_says_what_the_guest_uses(tmp_path: Path) -> None:
    async with launched(tmp_path, guest(agent="no")) as it:
        await it.line.link.order(SetSize("1", 2, 512 * MIB))
        done = await it.line.settled("1")
        assert (done.vcpus, done.vcpus_online, done.cpu) == (2, None, Answer())


async def test_a_vcpu_that_stays_makes_way_for_the_next(tmp_path: Path) -> None:
    machine = msgspec.structs.replace(guest(keeps="vcpu-3-0-0"), sockets=4)
    async with launched(tmp_path, machine) as it:
        await it.line.link.order(SetSize("1", 2, 512 * MIB))
        done = await it.line.settled("1")
        assert (done.vcpus, done.cpu) == (2, Answer())
        await it.line.link.order(SetSize("2", 1, 512 * MIB))
        done = await it.line.settled("2")
        why = "2 vCPUs instead of 1: the guest keeps vcpu-3-0-0: the device is busy (ACPI status 130)"
        assert (done.vcpus, done.cpu) == (2, Answer("Partial", why))


async def test_memory_that_stays_is_told_and_goes_later_without_being_asked(tmp_path: Path) -> None:
    machine = msgspec.structs.replace(guest(keeps="vmem0"), memory=GIB)
    async with launched(tmp_path, machine) as it:
        await it.line.link.order(SetSize("1", 1, 512 * MIB, unplug_timeout_s=0.3))
        partial = await it.line.settled("1")
        why = "1Gi instead of 512Mi: the guest goes on trying"
        assert (partial.memory, partial.requested, partial.ram) == (GIB, 512 * MIB, Answer("Partial", why))
        await it.type("release")
        done = await it.line.until(lambda report: report.ram.progress == "Settled")
        assert (done.memory, done.requested) == (512 * MIB, 512 * MIB)


async def test_what_the_hypervisor_fails_at_is_tried_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "RETRY_S", 0.05)
    async with launched(tmp_path, guest(fails="device_add")) as it:
        await it.line.link.order(SetSize("1", 2, GIB))
        done = await it.line.until(lambda report: report.cpu.progress == "Failed")
        assert done.cpu == Answer("Failed", "QEMU refuses device_add: device_add fails today", 3)
        assert [report.cpu.failures for report in it.line.heard if report.cpu.failures == 1]
        assert (done.memory, done.ram) == (GIB, Answer())


@pytest.mark.parametrize(
    ("vcpus", "memory", "cpu", "ram"),
    [
        (5, 512 * MIB, Answer("Failed", "the machine was started for 4 vCPUs at most, not 5", 3), Answer()),
        (1, 3 * GIB, Answer(), Answer("Failed", "the machine was started for 2Gi at most, not 3Gi", 3)),
        (1, 256 * MIB, Answer(), Answer("Failed", "the machine was started with 512Mi that stay", 3)),
        (1, 513 * MIB, Answer(), Answer("Failed", "513Mi is not 512Mi and whole blocks of 2Mi", 3)),
    ],
)
async def test_a_size_that_cannot_be(tmp_path: Path, vcpus: int, memory: int, cpu: Answer, ram: Answer) -> None:
    async with launched(tmp_path, guest()) as it:
        await it.line.link.order(SetSize("1", vcpus, memory))
        done = await it.line.settled("1")
        assert (done.vcpus, done.memory, done.cpu, done.ram) == (1, 512 * MIB, cpu, ram)


async def test_the_latest_order_counts(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        for number in range(5):
            await it.line.link.order(SetSize(str(number), 1 + number % 4, 512 * MIB + number * 128 * MIB))
        done = await it.line.settled("4")
        assert (done.vcpus, done.memory, done.cpu, done.ram) == (1, GIB, Answer(), Answer())


async def test_whole_sockets_come_and_go(tmp_path: Path) -> None:
    """The pretended QEMU knows one core a socket; a machine of two has half as many sockets to fill."""
    async with launched(tmp_path, guest()) as it:
        await it.line.link.order(SetSize("1", 0, 512 * MIB))
        done = await it.line.settled("1")
        assert (done.vcpus, done.cpu) == (1, Answer())


async def test_memory_comes_back_after_a_reset(tmp_path: Path) -> None:
    async with launched(tmp_path, msgspec.structs.replace(guest(), memory=GIB)) as it:
        await it.line.link.order(SetSize("1", 1, GIB))
        await it.line.settled("1")
        await it.type("reboot")
        await it.line.until(lambda report: report.resets == 1)
        done = await it.line.until(lambda report: report.memory == GIB and report.ram.progress == "Settled")
        assert (done.resets, done.requested, done.order) == (1, GIB, "1")


async def test_several_clients_hear_the_same(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it, line(it.run) as other:
        await other.link.order(SetSize("1", 2, 512 * MIB))
        assert plain(await it.line.settled("1")) == plain(await other.settled("1"))


async def test_an_order_that_cannot_be_read_is_answered(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        _, writer = await asyncio.open_unix_connection(it.run.control)
        writer.write(b'{"type": "dance"}\n')
        told = await it.line.until(lambda report: report.message)
        assert told.message.startswith("cannot read an order to a launcher: Invalid value 'dance'")
        writer.close()


async def test_a_guest_that_is_told_to_shut_down(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        await it.line.until(lambda report: report.run_state == "Running")
        await it.line.link.order(PowerDown())
        last = [report async for report in it.line.link.reports()][-1]
        assert last == Report(
            run_state="Ended",
            vcpus_online=last.vcpus_online,
            accelerator="tcg",
            exit_code=0,
            message="the machine was shut down on demand",
        )
        assert await it.exit_code() == 0


async def test_a_guest_that_does_not_hear_is_ended_after_its_grace_period(tmp_path: Path) -> None:
    async with launched(tmp_path, msgspec.structs.replace(guest(deaf="yes"), grace_s=0.2)) as it:
        await it.line.until(lambda report: report.run_state == "Running")
        await it.line.link.order(PowerDown())
        last = [report async for report in it.line.link.reports()][-1]
        assert (last.exit_code, await it.exit_code()) == (0, 0)


@pytest.mark.parametrize(
    ("word", "code", "message"),
    [("panic", 3, "the guest's kernel panicked"), ("die", 137, "QEMU was ended by SIGKILL")],
)
async def test_a_machine_that_fails(tmp_path: Path, word: str, code: int, message: str) -> None:
    async with launched(tmp_path, guest()) as it:
        await it.line.until(lambda report: report.run_state == "Running")
        await it.type(word)
        last = [report async for report in it.line.link.reports()][-1]
        assert (last.exit_code, last.message) == (code, f"{message}: ")
        assert await it.exit_code() == code


async def test_a_qemu_that_does_not_start_says_why(tmp_path: Path) -> None:
    code, said = await stillborn(tmp_path, guest(broken="yes"))
    assert code == 1
    assert said[-1].endswith("QEMU failed with exit code 1: fakeqemu: -machine q35: no such machine")


async def test_a_disk_that_is_missing_says_so(tmp_path: Path) -> None:
    machine = msgspec.structs.replace(guest(), disks=(Disk(name="root", path=f"{tmp_path}/no.img"),))
    assert await stillborn(tmp_path, machine) == (1, [f"disk root: there is no {tmp_path}/no.img"])


async def test_a_disk_that_may_be_made_is_made(tmp_path: Path) -> None:
    disk = Disk(name="data", path=f"{tmp_path}/data/disk.img", create=16 * MIB)
    async with launched(tmp_path, msgspec.structs.replace(guest(), disks=(disk,))) as it:
        await it.line.until(lambda report: report.run_state == "Running")
        assert (tmp_path / "data/disk.img").stat().st_size == 16 * MIB


async def test_a_machine_moves_to_another_launcher(tmp_path: Path) -> None:
    target = msgspec.structs.replace(SMALL, incoming=True)
    async with launched(tmp_path, guest(), "a") as source, launched(tmp_path, target, "b") as there:
        await there.line.until(lambda report: report.run_state == "Incoming")
        address = f"unix:{tmp_path}/move.sock"
        await there.line.link.order(Listen(address))
        await there.line.until(lambda report: report.message == f"waits for the machine at {address}")
        await source.line.link.order(MigrateTo(address))
        moved = await source.line.until(lambda report: report.move.state == "Completed")
        assert (moved.run_state, moved.move) == ("Migrated", Move("Completed", 9 * MIB, 20, 3, address=address))
        await there.line.until(lambda report: report.run_state == "Running")
        await source.line.link.order(PowerDown())
        assert await source.exit_code() == 0
        await there.line.link.order(SetSize("1", 2, 512 * MIB))
        assert (await there.line.settled("1")).vcpus == 2


async def test_a_migration_to_nowhere_leaves_the_machine_here(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        await it.line.link.order(MigrateTo(f"unix:{tmp_path}/nobody.sock"))
        failed = await it.line.until(lambda report: report.move.state == "Failed")
        assert (failed.run_state, "Failed to connect" in failed.move.message) == ("Running", True)


async def test_a_machine_with_a_gap_does_not_move(tmp_path: Path) -> None:
    machine = msgspec.structs.replace(guest(keeps="vcpu-2-0-0"), sockets=3)
    async with launched(tmp_path, machine) as it:
        await it.line.link.order(SetSize("1", 2, 512 * MIB))
        await it.line.settled("1")
        await it.line.link.order(MigrateTo("unix:/nowhere"))
        failed = await it.line.until(lambda report: report.move.state == "Failed")
        assert failed.move.message == (
            "vCPU sockets [0, 2] leave a gap, as the guest kept a higher one: grow it first, then migrate"
        )


async def test_a_launcher_that_was_killed_is_followed_by_one_that_finds_the_machine(tmp_path: Path) -> None:
    """As the first process of a container it takes QEMU with it; on a host it does not."""
    fake_qemu(tmp_path)
    run, machine = RunDir(tmp_path / "run"), guest()
    first = await process(run, machine, tmp_path)
    async with line(run) as connected:
        await connected.link.order(SetSize("1", 3, GIB))
        await connected.settled("1")
    pid = int(run.pidfile.read_text())
    first.send_signal(signal.SIGKILL)
    await first.wait()
    second = await process(run, machine, tmp_path)
    try:
        async with line(run) as connected:
            report = await connected.until(lambda report: report.run_state == "Running")
            assert (report.vcpus, report.memory, report.order, report.accelerator) == (3, GIB, "", "tcg")
            assert int(run.pidfile.read_text()) == pid
            second.send_signal(signal.SIGTERM)
            last = [each async for each in connected.link.reports()][-1]
            assert last.exit_code == 0
        assert await second.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def test_the_console_is_the_output_and_a_terminal(tmp_path: Path) -> None:
    fake_qemu(tmp_path)
    run = RunDir(tmp_path / "run")
    launcher = await process(run, guest(), tmp_path)
    async with line(run) as connected:
        await connected.until(lambda report: report.run_state == "Running")
        reader, writer = await asyncio.open_unix_connection(run.console)
        writer.write(b"good day\n")
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.readuntil(b"good day\n") == b"guest: hello\nguest: heard good day\n"
        writer.close()
        await connected.link.order(PowerDown())
        output, _ = await launcher.communicate()
    assert output == b"guest: hello\nguest: heard good day\n"


async def test_talk_is_a_line_through_stdin_and_stdout(tmp_path: Path) -> None:
    async with launched(tmp_path, guest()) as it:
        await it.line.until(lambda report: report.run_state == "Running")
        talk = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "flexlet", "vm-launcher", "talk", "--run-dir", str(it.run.path)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert talk.stdin is not None
        talk.stdin.write(control.line(SetSize("1", 2, 512 * MIB)))
        assert (await it.line.settled("1")).vcpus == 2
        await it.line.link.order(PowerDown())
        rest = (await talk.communicate())[0].splitlines()
        assert control.report(rest[-1]).exit_code == 0
        assert talk.returncode == 0
