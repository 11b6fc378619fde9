"""What every `flexlet.ports.vmguest.GuestLinks` does, with whatever launcher is at the other end.

Each check has a machine of its own: 1 of 4 vCPUs, 512Mi of 2Gi, and a guest with an agent; if it is named so, one
that keeps a vCPU (the second) or memory (a part or all of what was plugged).
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Literal, Protocol

from flexlet.api.units import GIB, MIB
from flexlet.core.vm.guest import Answer, PowerDown, Report, SetSize
from flexlet.errors import HypervisorGone
from flexlet.ports.vmguest import GuestLink
from flexlet.testing.checks import Check, expect, expect_fault

Manner = Literal["", "keeps-vcpu", "keeps-memory"]
PATIENCE_S: Final = 60.0
_IMPOSSIBLE: Final = (
    (5, 512, "the machine was started for 4 vCPUs at most, not 5"),
    (1, 3072, "the machine was started for 2Gi at most, not 3Gi"),
    (1, 256, "the machine was started with 512Mi that stay"),
    (1, 513, "513Mi is not 512Mi and whole blocks of 2Mi"),
)
"""vCPUs, MiB, and why not."""


class GuestBench(Protocol):
    """Where lines come from."""

    @property
    def manner(self) -> Manner:
        """What its guest is like."""
        ...

    def open(self) -> AbstractAsyncContextManager[GuestLink]:
        """A line to the machine."""
        ...

    async def reboot(self) -> None:
        """Its guest starts anew by itself."""
        ...

    async def release(self) -> None:
        """Its guest lets go what it has kept."""
        ...

    def open_nowhere(self) -> AbstractAsyncContextManager[GuestLink]:
        """A line to a launcher that is not there."""
        ...


async def reports_begin_with_the_machine_as_it_is(bench: GuestBench) -> None:
    """Every line has a report at once, and each is complete."""
    async with bench.open() as link:
        await until(link, lambda report: report.run_state == "Running" and report.vcpus)
    async with bench.open() as other:
        first = await anext(aiter(other.reports()))
        expect((first.run_state, first.vcpus), ("Running", 1))
        expect((first.memory, first.requested, first.order), (512 * MIB, 512 * MIB, ""))


async def a_size_is_reached_and_told_with_its_order(bench: GuestBench) -> None:
    """Answers carry the id of what they answer; what the guest uses follows what it has."""
    async with bench.open() as link:
        await link.order(SetSize("grow", 3, 1536 * MIB))
        done = await settled(link, "grow")
        expect((done.vcpus, done.vcpus_online, done.memory, done.requested), (3, 3, 1536 * MIB, 1536 * MIB))
        expect((done.cpu, done.ram), (Answer(), Answer()))
        await link.order(SetSize("shrink", 1, 512 * MIB))
        done = await settled(link, "shrink")
        expect((done.vcpus, done.memory, done.requested), (1, 512 * MIB, 512 * MIB))


async def vcpus_come_one_by_one(bench: GuestBench) -> None:
    """Each of them is told, and none goes on the way."""
    async with bench.open() as link:
        await link.order(SetSize("grow", 3, 512 * MIB))
        counts: list[int] = []

        def is_there(report: Report) -> bool:
            counts.extend([report.vcpus] if report.order == "grow" else [])
            return report.order == "grow" and report.vcpus == 3

        await until(link, is_there)
        expect((sorted(set(counts)), counts), ([1, 2, 3], sorted(counts)))


async def a_size_that_cannot_be_is_refused(bench: GuestBench) -> None:
    """With what the machine was started for; it stays as it is."""
    async with bench.open() as link:
        for vcpus, memory, message in _IMPOSSIBLE:
            await link.order(SetSize(message, vcpus, memory * MIB))
            done = await settled(link, message)
            answers = (Answer(), Answer("Failed", message, 3))
            expect((done.cpu, done.ram), answers[::-1] if vcpus > 1 else answers)
            expect((done.vcpus, done.memory, done.requested), (1, 512 * MIB, 512 * MIB))


async def memory_comes_back_after_a_reset(bench: GuestBench) -> None:
    """The machine loses what was plugged, and its driver takes it again."""
    async with bench.open() as link:
        await link.order(SetSize("grow", 1, GIB))
        await settled(link, "grow")
        await bench.reboot()
        await until(link, lambda report: report.resets == 1)
        done = await until(link, lambda report: report.memory == GIB and report.ram.progress == "Settled")
        expect((done.vcpus, done.requested, done.order, done.resets), (1, GIB, "grow", 1))


async def all_lines_hear_the_same_and_the_machine_outlives_them(bench: GuestBench) -> None:
    """Who asked is not told more than others."""
    async with bench.open() as one, bench.open() as other:
        await other.order(SetSize("grow", 2, 512 * MIB))
        expect(await settled(one, "grow"), await settled(other, "grow"))
    async with bench.open() as again:
        first = await anext(aiter(again.reports()))
        expect((first.run_state, first.vcpus, first.order), ("Running", 2, "grow"))


async def the_latest_order_counts(bench: GuestBench) -> None:
    """Orders that were not carried out yet are forgotten."""
    async with bench.open() as link:
        for number, (vcpus, memory) in enumerate([(4, 2 * GIB), (2, GIB), (3, 768 * MIB)]):
            await link.order(SetSize(str(number), vcpus, memory))
        done = await settled(link, "2")
        expect((done.vcpus, done.memory, done.cpu, done.ram), (3, 768 * MIB, Answer(), Answer()))


async def an_order_given_again_changes_nothing(bench: GuestBench) -> None:
    """Orders say what shall be, not what to do."""
    async with bench.open() as link:
        for _ in range(2):
            await link.order(SetSize("same", 2, GIB))
        done = await settled(link, "same")
        expect((done.vcpus, done.memory), (2, GIB))


async def a_vcpu_that_stays_is_made_up_for_and_then_told(bench: GuestBench) -> None:
    """Another one goes instead; if there is none, there is one too many."""
    async with bench.open() as link:
        await link.order(SetSize("grow", 3, 512 * MIB))
        await settled(link, "grow")
        await link.order(SetSize("two", 2, 512 * MIB))
        expect((await settled(link, "two")).vcpus, 2)
        await link.order(SetSize("one", 1, 512 * MIB, 5.0))
        done = await settled(link, "one")
        expect((done.vcpus, done.cpu.progress), (2, "Partial"))
        expect(done.cpu.message.startswith("2 vCPUs instead of 1: "), True, done.cpu.message)


async def memory_that_stays_is_told_and_may_go_later(bench: GuestBench) -> None:
    """The wish stays low, the amount is what the guest really has; nobody has to ask again."""
    async with bench.open() as link:
        await link.order(SetSize("grow", 1, GIB))
        await settled(link, "grow")
        await link.order(SetSize("shrink", 1, 512 * MIB, 1.0))
        done = await settled(link, "shrink")
        expect((done.ram.progress, done.requested, done.memory > 512 * MIB), ("Partial", 512 * MIB, True))
        expect(done.ram.message, f"{_text(done.memory)} instead of 512Mi: the guest goes on trying")
        await bench.release()
        done = await until(link, lambda report: report.ram.progress == "Settled")
        expect((done.memory, done.requested, done.order), (512 * MIB, 512 * MIB, "shrink"))


async def reports_end_with_the_machine(bench: GuestBench) -> None:
    """The last one says how it ended."""
    async with bench.open() as link:
        await until(link, lambda report: report.run_state == "Running" and report.vcpus)
        await link.order(PowerDown())
        async with asyncio.timeout(PATIENCE_S):
            last = [report async for report in link.reports()][-1]
        expect((last.run_state, last.exit_code), ("Ended", 0))


async def nobody_answers_where_nobody_is(bench: GuestBench) -> None:
    """A line to nowhere fails when it is opened."""
    await expect_fault(HypervisorGone, bench.open_nowhere().__aenter__())


async def until(link: GuestLink, condition: Callable[[Report], object]) -> Report:
    """The first report for which this holds."""
    async with asyncio.timeout(PATIENCE_S):
        async for report in link.reports():
            if condition(report):
                return report
    raise AssertionError("the machine ended before that")


async def settled(link: GuestLink, order: str) -> Report:
    """The report that an order was carried out, as far as it goes."""
    return await until(
        link,
        lambda report: report.order == order and "Changing" not in {report.cpu.progress, report.ram.progress},
    )


def _text(size: int) -> str:
    return f"{size // GIB}Gi" if size % GIB == 0 else f"{size // MIB}Mi"


CHECKS: Final[tuple[tuple[Manner, Check[GuestBench]], ...]] = (
    ("", reports_begin_with_the_machine_as_it_is),
    ("", a_size_is_reached_and_told_with_its_order),
    ("", vcpus_come_one_by_one),
    ("", a_size_that_cannot_be_is_refused),
    ("", memory_comes_back_after_a_reset),
    ("", all_lines_hear_the_same_and_the_machine_outlives_them),
    ("", the_latest_order_counts),
    ("", an_order_given_again_changes_nothing),
    ("keeps-vcpu", a_vcpu_that_stays_is_made_up_for_and_then_told),
    ("keeps-memory", memory_that_stays_is_told_and_may_go_later),
    ("", reports_end_with_the_machine),
    ("", nobody_answers_where_nobody_is),
)
