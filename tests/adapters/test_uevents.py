import asyncio
import contextlib
import errno
import socket
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from flexlet.adapters import uevents
from flexlet.adapters.uevents import NetlinkUevents, ProcSwaps, heard
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


async def test_events_are_lost_and_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full buffer is told as such; what another program or another device says is passed over."""
    lost, broken = OSError(errno.ENOBUFS, "No buffer space"), OSError(errno.EIO, "I/O error")
    receive = AsyncMock(side_effect=[(CPU, (7, 1)), lost, (CPU, (0, 1)), broken])
    monkeypatch.setattr(uevents, "open_socket", socket.socket)
    monkeypatch.setattr(asyncio.get_running_loop(), "sock_recvfrom", receive)
    listening = NetlinkUevents().events()
    found = [await anext(listening), await anext(listening)]
    assert found == [Overrun(), Uevent("online", "/devices/system/cpu/cpu4", "cpu")]
    with pytest.raises(HostError, match="cannot read the kernel's uevents: I/O error"):
        await anext(listening)


async def test_listening_costs_nothing_and_ends() -> None:
    """Nothing is sent here: it only waits, and its socket is gone when it stops."""
    with contextlib.suppress(HostUnsupported):
        listening = NetlinkUevents().events()
        waiting = asyncio.ensure_future(anext(listening))
        await asyncio.sleep(0)
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


async def test_swap_is_watched() -> None:
    """The kernel's own file: nothing happens to it here, and waiting for it can be ended."""
    with contextlib.suppress(HostUnsupported):
        waiting = asyncio.ensure_future(anext(ProcSwaps().changes()))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})
