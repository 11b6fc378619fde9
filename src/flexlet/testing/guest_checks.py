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


class GuestBench(Protocol):
    """Where lines come from."""

    @property
    def manner(self) -> Manner:
        """What its guest is like."""
        ...

    def open(self) -> AbstractAsyncContextManager[GuestLink]:
        """A line to the machine."""
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


async def memory_that_stays_is_told(bench: GuestBench) -> None:
    """The wish stays low, the amount is what the guest really has."""
    async with bench.open() as link:
        await link.order(SetSize("grow", 1, GIB))
        await settled(link, "grow")
        await link.order(SetSize("shrink", 1, 512 * MIB, 1.0))
        done = await settled(link, "shrink")
        expect((done.ram.progress, done.requested, done.memory > 512 * MIB), ("Partial", 512 * MIB, True))
        expect(done.ram.message, f"{_text(done.memory)} instead of 512Mi: the guest goes on trying")


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
    ("", the_latest_order_counts),
    ("", an_order_given_again_changes_nothing),
    ("keeps-vcpu", a_vcpu_that_stays_is_made_up_for_and_then_told),
    ("keeps-memory", memory_that_stays_is_told),
    ("", reports_end_with_the_machine),
    ("", nobody_answers_where_nobody_is),
)
