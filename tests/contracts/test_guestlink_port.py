"""The GuestLink port's contract: a simulated launcher answers as the real one does around a QEMU as recorded."""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.adapters.launcher.stage import SMALL, Line, guest, launched
from tests.adapters.launcher.stage import line as connected
from tests.adapters.sim.launcherpods import Pods

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.sim.launcher import SimLaunchers
from flexlet.adapters.sim.launchertemper import Temper
from flexlet.api.units import GIB, MIB
from flexlet.core.vm.guest import Answer, Machine, PowerDown, Report, SetSize

Opening = Callable[[], contextlib.AbstractAsyncContextManager[Line]]


class Case:
    """A launcher, however it is made: lines to it, and what can befall its guest."""

    def __init__(self, opening: Opening, reboot: Callable[[], Any], release: Callable[[], Any]) -> None:
        self.line = opening
        self.reboot = reboot
        self.release = release


async def _do(deed: Callable[[], Any]) -> None:
    done = deed()
    if done is not None:
        await done


@contextlib.asynccontextmanager
async def simulated(machine: Machine, keeps: str = "") -> AsyncIterator[Case]:
    pods, clock = Pods(), SystemClock()
    pods.add("db", machine)
    pinned = {int(keeps.split("-")[1])} if keeps.startswith("vcpu") else set()
    temper = Temper(start_s=0, cpu_s=0.01, reset_s=0.2, keeps=GIB if keeps == "vmem0" else 0, pinned=pinned)
    launchers = SimLaunchers(pods, clock, temper)  # type: ignore[arg-type]

    @contextlib.asynccontextmanager
    async def opening() -> AsyncIterator[Line]:
        async with launchers.open("default", "db") as link:
            yield Line(link)  # type: ignore[arg-type]

    def release() -> None:
        found = launchers.guest("default", "db")
        assert found is not None
        found.temper.keeps = 0

    yield Case(opening, lambda: launchers.reset("default", "db"), release)


@contextlib.asynccontextmanager
async def real(folder: Path, machine: Machine, keeps: str = "") -> AsyncIterator[Case]:
    manners = {"keeps": keeps} if keeps else {}
    async with launched(folder, guest(machine, **manners)) as it:
        yield Case(lambda: connected(it.run), lambda: it.type("reboot"), lambda: it.type("release"))


Make = Callable[..., contextlib.AbstractAsyncContextManager[Case]]


@pytest.fixture(params=["sim", "launcher"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes a launcher with a machine of 1 to 4 vCPUs and 512Mi to 2Gi."""
    if request.param == "sim":
        return simulated
    return lambda machine, keeps="": real(tmp_path, machine, keeps)


def figures(report: Report) -> tuple[str, int, int, int, str, Answer, Answer]:
    """What both must agree on."""
    return (
        report.run_state,
        report.vcpus,
        report.memory // MIB,
        report.requested // MIB,
        report.order,
        report.cpu,
        report.ram,
    )


async def test_the_first_report_comes_without_asking(make: Make) -> None:
    async with make(SMALL) as case, case.line() as line:
        first = await line.until(lambda report: report.run_state == "Running")
        assert figures(first) == ("Running", 1, 512, 512, "", Answer(), Answer())


async def test_a_machine_grows_and_shrinks_back(make: Make) -> None:
    async with make(SMALL) as case, case.line() as line:
        await line.link.order(SetSize("big", 3, 1536 * MIB))
        assert figures(await line.settled("big")) == ("Running", 3, 1536, 1536, "big", Answer(), Answer())
        counts = [report.vcpus for report in line.heard if report.order == "big"]
        assert (sorted(set(counts)), counts) == ([1, 2, 3], sorted(counts))
        await line.link.order(SetSize("small", 1, 512 * MIB))
        assert figures(await line.settled("small")) == ("Running", 1, 512, 512, "small", Answer(), Answer())


async def test_saying_it_again_changes_nothing(make: Make) -> None:
    async with make(SMALL) as case, case.line() as line:
        for _ in range(2):
            await line.link.order(SetSize("1", 2, GIB))
            done = await line.settled("1")
            assert figures(done) == ("Running", 2, 1024, 1024, "1", Answer(), Answer())


async def test_the_latest_order_counts(make: Make) -> None:
    async with make(SMALL) as case, case.line() as line:
        for number in range(5):
            await line.link.order(SetSize(str(number), 1 + number % 4, (512 + number * 128) * MIB))
        assert figures(await line.settled("4")) == ("Running", 1, 1024, 1024, "4", Answer(), Answer())


async def test_a_vcpu_that_stays_is_made_up_for_and_then_told(make: Make) -> None:
    async with make(msgspec.structs.replace(SMALL, sockets=4), "vcpu-3-0-0") as case, case.line() as line:
        await line.link.order(SetSize("1", 2, 512 * MIB))
        assert figures(await line.settled("1"))[1:6] == (2, 512, 512, "1", Answer())
        await line.link.order(SetSize("2", 1, 512 * MIB))
        why = "2 vCPUs instead of 1: the guest keeps vcpu-3-0-0: the device is busy (ACPI status 130)"
        assert figures(await line.settled("2"))[1:6] == (2, 512, 512, "2", Answer("Partial", why))


async def test_memory_that_stays_is_told_and_goes_later_without_being_asked(make: Make) -> None:
    async with make(msgspec.structs.replace(SMALL, memory=GIB), "vmem0") as case, case.line() as line:
        await line.link.order(SetSize("1", 1, 512 * MIB, unplug_timeout_s=0.3))
        partial = Answer("Partial", "1Gi instead of 512Mi: the guest goes on trying")
        assert figures(await line.settled("1"))[2:] == (1024, 512, "1", Answer(), partial)
        await _do(case.release)
        done = await line.until(lambda report: report.ram.progress == "Settled")
        assert figures(done)[2:] == (512, 512, "1", Answer(), Answer())


@pytest.mark.parametrize(
    ("vcpus", "memory", "cpu", "ram"),
    [
        (5, 512, Answer("Failed", "the machine was started for 4 vCPUs at most, not 5", 3), Answer()),
        (1, 3072, Answer(), Answer("Failed", "the machine was started for 2Gi at most, not 3Gi", 3)),
        (1, 256, Answer(), Answer("Failed", "the machine was started with 512Mi that stay", 3)),
        (1, 513, Answer(), Answer("Failed", "513Mi is not 512Mi and whole blocks of 2Mi", 3)),
    ],
)
async def test_a_size_that_cannot_be(make: Make, vcpus: int, memory: int, cpu: Answer, ram: Answer) -> None:
    async with make(SMALL) as case, case.line() as line:
        await line.link.order(SetSize("1", vcpus, memory * MIB))
        assert figures(await line.settled("1")) == ("Running", 1, 512, 512, "1", cpu, ram)


async def test_memory_comes_back_after_a_reset(make: Make) -> None:
    async with make(msgspec.structs.replace(SMALL, memory=GIB)) as case, case.line() as line:
        await line.link.order(SetSize("1", 1, GIB))
        await line.settled("1")
        await _do(case.reboot)
        await line.until(lambda report: report.resets == 1)
        done = await line.until(lambda report: report.memory == GIB and report.ram.progress == "Settled")
        assert (done.resets, figures(done)) == (1, ("Running", 1, 1024, 1024, "1", Answer(), Answer()))


async def test_all_lines_hear_the_same_and_a_machine_outlives_them(make: Make) -> None:
    async with make(SMALL) as case:
        async with case.line() as one, case.line() as other:
            await other.link.order(SetSize("1", 2, 512 * MIB))
            assert figures(await one.settled("1")) == figures(await other.settled("1"))
        async with case.line() as again:
            assert figures(await again.until(bool)) == ("Running", 2, 512, 512, "1", Answer(), Answer())


async def test_reports_end_with_the_machine(make: Make) -> None:
    async with make(SMALL) as case, case.line() as line:
        await line.until(lambda report: report.run_state == "Running")
        await line.link.order(PowerDown())
        last = [report async for report in line.link.reports()][-1]
        assert (last.run_state, last.exit_code) == ("Ended", 0)
