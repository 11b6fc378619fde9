import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Self

import pytest

from flexlet.adapters import uevents
from flexlet.adapters.uevents import NetlinkUevents, ProcSwaps, heard
from flexlet.apps.eventloop import new_loop
from flexlet.errors import HostError, HostUnsupported
from flexlet.ports.uevents import Overrun, Uevent


def message(head: str, *pairs: str) -> bytes:
    return "\0".join((head, *pairs, "")).encode()


CPU = message(
    "online@/devices/system/cpu/cpu4",
    "ACTION=online",
    "DEVPATH=/devices/system/cpu/cpu4",
    "SUBSYSTEM=cpu",
    "SEQNUM=4711",
)


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (CPU, Uevent("online", "/devices/system/cpu/cpu4", "cpu")),
        (
            message("add@/devices/system/memory/memory40", "ACTION=add", "SUBSYSTEM=memory", "SEQNUM=1"),
            Uevent("add", "/devices/system/memory/memory40", "memory"),
        ),
        (
            message("add@/devices/system/node/node1", "ACTION=add", "SUBSYSTEM=node", "SYNTH_UUID=0", "SEQNUM=1"),
            Uevent("add", "/devices/system/node/node1", "node"),
        ),
        (message("add@/devices/virtual/net/cali1", "ACTION=add", "SUBSYSTEM=net", "SEQNUM=1"), None),
        (message("add@/devices/x", "ACTION=add", "SUBSYSTEM=cpufreq", "SEQNUM=1"), None),
        (message("add@/devices/x", "ACTION=remove", "SUBSYSTEM=cpu"), None),
        (b"libudev\0\xfe\xed\xca\xfe\0SUBSYSTEM=cpu\0", None),
        (b"", None),
        (b"\xff\xff@\0SUBSYSTEM=", None),
    ],
)
def test_only_what_is_about_the_machine_is_heard(data: bytes, event: Uevent | None) -> None:
    assert heard(data, 0) == event


def test_only_the_kernel_is_believed() -> None:
    """Whoever else may send to the group has a pid."""
    assert heard(CPU, 4711) is None


def test_the_socket_opens_or_says_what_it_needs() -> None:
    """A container without such a socket gets a sentence, not a stack of errors."""
    complaint = ""
    try:
        with uevents.open_socket() as opened:
            assert (opened.getsockname()[1], opened.gettimeout()) == (1, 0)
    except HostUnsupported as error:
        complaint = str(error)
    assert not complaint or "netlink socket in the host's network namespace" in complaint


def test_a_host_without_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("socket.socket", refuse)
    with pytest.raises(HostUnsupported, match="uevents: Operation not permitted: flexlet needs a netlink socket"):
        uevents.open_socket()


class Listener:
    """A socket on which something always waits; reading it gives what the test says."""

    def __init__(self, *given: tuple[bytes, tuple[int, int]] | OSError) -> None:
        self._given = list(given)
        self._ends = socket.socketpair()
        self._ends[1].send(b"there")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            end.close()

    def fileno(self) -> int:
        return self._ends[0].fileno()

    def recvfrom(self, _: int) -> tuple[bytes, tuple[int, int]]:
        found = self._given.pop(0)
        if isinstance(found, OSError):
            raise found
        return found


@pytest.fixture(params=[asyncio.new_event_loop, new_loop], ids=["asyncio", "agent"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    """The loop of Python, and the one that agents run on: they differ in what they can wait for."""
    with asyncio.Runner(loop_factory=request.param) as made:
        yield made


def test_events_are_lost_and_heard(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full buffer is told as such; what another program or another device says is passed over."""
    lost, broken = OSError(errno.ENOBUFS, "No buffer space"), OSError(errno.EIO, "I/O error")
    given = (BlockingIOError(), (CPU, (7, 1)), lost, BlockingIOError(), (CPU, (0, 1)), broken)
    monkeypatch.setattr(uevents, "open_socket", lambda: Listener(*given))

    async def listened() -> list[Uevent | Overrun]:
        listening = NetlinkUevents().events()
        found = [await anext(listening), await anext(listening)]
        with pytest.raises(HostError, match="cannot read the kernel's uevents: I/O error"):
            await anext(listening)
        return found

    assert runner.run(listened()) == [Overrun(), Uevent("online", "/devices/system/cpu/cpu4", "cpu")]


def test_an_error_of_the_socket_ends_the_wait(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost event shows as an error and nothing to read, which not every loop waits for by itself."""
    refused = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    monkeypatch.setattr(uevents, "open_socket", lambda: refused)

    async def listened() -> None:
        listening = NetlinkUevents().events()
        waiting = asyncio.ensure_future(anext(listening))
        await asyncio.sleep(0)
        refused.connect(("127.0.0.1", 1))
        refused.send(b"")
        await waiting

    with pytest.raises(HostError, match="cannot read the kernel's uevents: Connection refused"):
        runner.run(listened())


def test_listening_costs_nothing_and_ends(runner: asyncio.Runner) -> None:
    """Nothing is sent here: it only waits, and its socket is gone when it stops."""
    with contextlib.suppress(HostUnsupported):
        runner.run(_waits(NetlinkUevents().events()))


async def _waits(changes: AsyncIterator[object]) -> None:
    waiting = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0.01)
    if waiting.done():
        waiting.result()
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait({waiting})


@pytest.mark.parametrize("reason", ["No such file", "not permitted"])
async def test_swap_that_cannot_be_watched(reason: str, tmp_path: Path) -> None:
    """No such file, or one that is no file of the kernel."""
    if reason == "not permitted":
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc/swaps").write_text("Filename Type Size Used Priority\n")
    with pytest.raises(HostUnsupported, match=f"cannot watch .*/proc/swaps for swap devices: .*{reason}"):
        await anext(ProcSwaps(str(tmp_path)).changes())


def test_swap_is_watched(runner: asyncio.Runner) -> None:
    """The kernel's own file: nothing happens to it here, and waiting for it can be ended."""
    with contextlib.suppress(HostUnsupported):
        runner.run(_waits(ProcSwaps().changes()))
