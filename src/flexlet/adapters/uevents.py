"""The kernel's own events over netlink, and the list of swap devices: how a node hears of hot plug at once.

The socket belongs to the host's network namespace: in another one the kernel may send nothing. Group 1 is the
kernel; group 2 is udev's copy with a header of its own and is not joined. Whoever may send to group 1 besides the
kernel has a pid, so only messages of pid 0 count.
"""

import asyncio
import contextlib
import errno
import select
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from flexlet.errors import HostError, HostUnsupported
from flexlet.ports.uevents import SUBSYSTEMS, Overrun, Uevent

_KOBJECT_UEVENT: Final = 15
_KERNEL_GROUP: Final = 1
_BUFFER: Final = 8 * 1024**2
"""32 GiB in blocks of 128 MiB are 512 events of up to a page each, at once."""
_RCVBUFFORCE: Final = 33
_MESSAGE: Final = 16 * 1024
_TURN: Final = 64
"""So many events are taken before others of the loop get a turn."""
_WANTED: Final = tuple(f"\0SUBSYSTEM={name}\0".encode() for name in SUBSYSTEMS)


class NetlinkUevents:
    """`flexlet.ports.uevents.Uevents` of this kernel."""

    async def events(self) -> AsyncIterator[Uevent | Overrun]:
        """From now on; HostError if the socket cannot be opened or breaks."""
        loop = asyncio.get_running_loop()
        with open_socket() as listener:
            taken = 0
            while True:
                try:
                    data, sender = await loop.sock_recvfrom(listener, _MESSAGE)
                except OSError as error:
                    if error.errno != errno.ENOBUFS:
                        raise HostError(f"cannot read the kernel's uevents: {error.strerror}") from error
                    yield Overrun()
                    continue
                event = heard(data, sender[0])
                if event is not None:
                    yield event
                taken += 1
                if taken % _TURN == 0:
                    await asyncio.sleep(0)


def open_socket() -> socket.socket:
    """Bound to the kernel's group, with room for a big plug; HostUnsupported if this host has no such thing."""
    try:
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        opened = socket.socket(socket.AF_NETLINK, kind, _KOBJECT_UEVENT)
    except OSError as error:
        raise _unsupported(error) from error
    try:
        _widen(opened)
        opened.bind((0, _KERNEL_GROUP))
    except OSError as error:
        opened.close()
        raise _unsupported(error) from error
    return opened


def heard(data: bytes, sender: int) -> Uevent | None:
    """One message; None if it is not the kernel's, not of its form, or about something else."""
    # Most events of a node are about devices and network interfaces of pods: one search each settles them.
    if sender != 0 or not any(name in data for name in _WANTED):
        return None
    head, *pairs = data.decode(errors="replace").split("\0")
    fields = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    action, at, devpath = head.partition("@")
    if not at or fields.get("ACTION", action) != action:
        return None
    return Uevent(action, devpath, fields["SUBSYSTEM"])


class ProcSwaps:
    """`flexlet.ports.uevents.Swaps` of this kernel: its list of swap devices can be polled for changes."""

    def __init__(self, root: str = "/") -> None:
        self._path = root.rstrip("/") + "/proc/swaps"

    async def changes(self) -> AsyncIterator[None]:
        """One item per change or several changes together; HostUnsupported if the file cannot be polled."""
        changed = asyncio.Event()
        with _poller(self._path) as poller:
            loop = asyncio.get_running_loop()
            loop.add_reader(poller.fileno(), changed.set)
            try:
                while True:
                    await changed.wait()
                    changed.clear()
                    poller.poll(0)
                    yield
            finally:
                loop.remove_reader(poller.fileno())


@contextlib.contextmanager
def _poller(path: str) -> Iterator[select.epoll]:
    """A descriptor that an event loop can wait for: readable when a file has priority events."""
    try:
        with Path(path).open("rb") as file, select.epoll() as poller:
            poller.register(file, select.EPOLLPRI | select.EPOLLERR)
            yield poller
    except OSError as error:
        raise HostUnsupported(f"cannot watch {path} for swap devices: {error.strerror}") from error


def _widen(opened: socket.socket) -> None:
    """Beyond the system's limit if we may, else up to it: a small buffer only means more overruns."""
    try:
        opened.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, _BUFFER)
    except PermissionError:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)


def _unsupported(error: OSError) -> HostUnsupported:
    return HostUnsupported(
        f"cannot listen for the kernel's uevents: {error.strerror}: flexlet needs a netlink socket in the host's "
        "network namespace (hostNetwork), and sees changes of the machine only by looking until it has one"
    )
