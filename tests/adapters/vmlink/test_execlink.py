"""A launcher at the other end of ``pods/exec``: orders go in as lines, reports come out as lines."""

import asyncio

import pytest
from tests.adapters.kube.fakenode import SUCCESS, FakeNode, Running, failed

from flexlet.adapters.vmlink.execlink import ExecLinks
from flexlet.core.vm import control
from flexlet.core.vm.guest import Answer, Order, PowerDown, Report, SetSize
from flexlet.errors import HypervisorGone
from flexlet.ports.vmguest import GuestLinks

SMALL = Report(run_state="Running", vcpus=4, memory=8 << 30, requested=8 << 30)
GROWS = SetSize("7", 8, 16 << 30)


class Launcher:
    """Does what it is told at once."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.report = SMALL

    async def __call__(self, running: Running) -> bytes:
        await running.say("stdout", control.line(self.report))
        rest = b""
        async for piece in running.input():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.orders.append(control.order(line))
                if isinstance(self.orders[-1], PowerDown):
                    await running.say("stdout", control.line(Report(run_state="Ended", exit_code=0)))
                    return SUCCESS
                await self._grow(running, self.orders[-1])
        return SUCCESS

    async def _grow(self, running: Running, order: Order) -> None:
        """The report comes in two pieces, as it may from a network."""
        if isinstance(order, SetSize):
            size = order.memory
            self.report = Report(
                run_state="Running", vcpus=order.vcpus, memory=size, requested=size, order=order.id, cpu=Answer()
            )
            text = control.line(self.report)
            await running.say("stdout", text[:20])
            await asyncio.sleep(0)
            await running.say("stdout", text[20:])


def links(node: FakeNode) -> GuestLinks:
    return ExecLinks(node.credentials)


async def test_orders_and_reports(node: FakeNode) -> None:
    """Twice: a second line finds the machine as the first one left it."""
    node.program = launcher = Launcher()
    grown = Report(run_state="Running", vcpus=8, memory=16 << 30, requested=16 << 30, order="7")
    async with links(node).open("default", "db") as link:
        reports = link.reports()
        assert await anext(reports) == SMALL
        await link.order(GROWS)
        assert await anext(reports) == grown
    async with links(node).open("default", "db") as link:
        reports = link.reports()
        assert await anext(reports) == grown
        await link.order(PowerDown())
        assert [each async for each in reports] == [Report(run_state="Ended", exit_code=0)]
    assert launcher.orders == [GROWS, PowerDown()]
    assert node.asked == [("/exec/default/db/compute", ["flexlet", "vm-launcher", "talk"])] * 2


async def test_a_pod_that_is_not_there(node: FakeNode) -> None:
    with pytest.raises(HypervisorGone) as gone:
        await links(node).open("default", "other").__aenter__()
    assert str(gone.value) == 'no line to the launcher in default/other: pods "other" not found'


async def test_a_launcher_that_does_not_listen_yet(node: FakeNode) -> None:
    async def refuses(running: Running) -> bytes:
        await running.say("stderr", b"error: nobody listens at /run/flexlet-vm/control.sock\n")
        return failed(1)

    node.program = refuses
    async with links(node).open("default", "db") as link:
        with pytest.raises(HypervisorGone) as gone:
            await anext(link.reports())
    assert str(gone.value) == (
        "no line to the launcher in default/db: `flexlet vm-launcher talk` ended with code 1:"
        " error: nobody listens at /run/flexlet-vm/control.sock"
    )


async def test_a_line_that_breaks(node: FakeNode) -> None:
    """Reading and writing both say so."""

    async def breaks(running: Running) -> None:
        await running.say("stdout", control.line(SMALL))

    node.program = breaks
    async with links(node).open("default", "db") as link:
        reports = link.reports()
        assert await anext(reports) == SMALL
        with pytest.raises(HypervisorGone, match="broke off: closed with code 1000"):
            await anext(reports)
        with pytest.raises(HypervisorGone, match="broke off"):
            await link.order(GROWS)


@pytest.mark.parametrize(
    ("babble", "text"),
    [
        (b"hello\n", "cannot read the report of a launcher: JSON is malformed"),
        (bytes(1 << 20), "a line of more than 262144 bytes"),
    ],
)
async def test_somebody_who_is_no_launcher(node: FakeNode, babble: bytes, text: str) -> None:
    async def babbles(running: Running) -> bytes:
        await running.say("stdout", babble)
        return SUCCESS

    node.program = babbles
    async with links(node).open("default", "db") as link:
        with pytest.raises(HypervisorGone, match=f"no line to the launcher in default/db: {text}"):
            await anext(link.reports())
