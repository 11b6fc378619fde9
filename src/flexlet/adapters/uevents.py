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
        with open_socket() as listener, _signalled(listener.fileno(), select.EPOLLIN | select.EPOLLERR) as arrived:
            taken = 0
            while True:
                try:
                    data, sender = listener.recvfrom(_MESSAGE)
                except BlockingIOError:
                    arrived.clear()
                    await arrived.wait()
                    continue
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
        with self._changed() as changed:
            while True:
                await changed.wait()
                changed.clear()
                yield

    @contextlib.contextmanager
    def _changed(self) -> Iterator[asyncio.Event]:
        try:
            with (
                Path(self._path).open("rb") as file,
                _signalled(file.fileno(), select.EPOLLPRI | select.EPOLLERR) as changed,
            ):
                yield changed
        except OSError as error:
            raise HostUnsupported(f"cannot watch {self._path} for swap devices: {error.strerror}") from error


@contextlib.contextmanager
def _signalled(descriptor: int, events: int) -> Iterator[asyncio.Event]:
    """An event that is set whenever one of these comes to a descriptor.

    Event loops can wait for what is readable, and some stop at the first error that a descriptor shows. A poller
    between them is readable for everything that it waits for.
    """
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    with select.epoll() as poller:
        poller.register(descriptor, events)

        def notice() -> None:
            # Asking takes the event away; what can only be read stays, and is told again.
            poller.poll(0)
            arrived.set()

        loop.add_reader(poller.fileno(), notice)
        try:
            yield arrived
        finally:
            loop.remove_reader(poller.fileno())


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
