"""A launcher at the other end of ``pods/exec``: orders go in as lines, reports come out as lines."""

import asyncio

import pytest
from tests.adapters.kube.fakenode import SUCCESS, FakeNode, Running, failed

from flexlet.adapters.vmlink import wire
from flexlet.adapters.vmlink.execlink import ExecLinks
from flexlet.core.vm.guest import Answer, Listen, Order, PowerDown, Report, SetSize
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
        await running.say("stdout", wire.line(self.report))
        rest = b""
        async for piece in running.input():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.orders.append(wire.order(line))
                if isinstance(self.orders[-1], PowerDown):
                    await running.say("stdout", wire.line(Report(run_state="Ended", exit_code=0)))
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
            text = wire.line(self.report)
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
        await running.say("stdout", wire.line(SMALL))

    node.program = breaks
    async with links(node).open("default", "db") as link:
        reports = link.reports()
        assert await anext(reports) == SMALL
        with pytest.raises(HypervisorGone, match="broke off: closed with code 1000"):
            await anext(reports)
        with pytest.raises(HypervisorGone, match="broke off"):
            await link.order(GROWS)


async def test_somebody_who_is_no_launcher(node: FakeNode) -> None:
    async def babbles(running: Running) -> bytes:
        await running.say("stdout", b"hello\n")
        return SUCCESS

    node.program = babbles
    async with links(node).open("default", "db") as link:
        with pytest.raises(HypervisorGone, match=r"the launcher says what is no report: .*: b'hello'"):
            await anext(link.reports())


def test_lines() -> None:
    """The words on the wire are an interface between versions."""
    assert wire.line(GROWS) == (
        b'{"type":"setSize","id":"7","vcpus":8,"memory":17179869184,"unplug_timeout_s":120.0}\n'
    )
    assert wire.order(wire.line(Listen("tcp:0.0.0.0:4444"))) == Listen("tcp:0.0.0.0:4444")
    reports = wire.Reports()
    text = wire.line(SMALL)
    assert [list(reports.feed(piece)) for piece in (text + text[:5], text[5:] + b"\n")] == [[SMALL], [SMALL]]
    with pytest.raises(HypervisorGone, match="in one line"):
        reports.feed(bytes(1 << 21))
