"""The exec server: runs in the guest, takes commands from the host over virtio-serial ports.

``python3 -m flexlet.adapters.guest.server /dev/virtio-ports/flexlet.exec`` serves that port and its numbered
siblings (``flexlet.exec.1`` ...); each port has one client at a time, and each client any number of commands.
One thread, one epoll. Ports are watched edge-triggered, for an unconnected port is readable (with nothing) all
the time: the kernel wakes us when somebody connects or writes, and an idle server costs nothing.

A client that goes takes its commands with it. Runs in the guest: the standard library only.
"""

import contextlib
import os
import select
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from flexlet.adapters.guest import wire
from flexlet.adapters.guest.command import Command

PORTS: Final = Path("/sys/class/virtio-ports")


class Loop:
    """Calls whoever waits for a descriptor."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._calls: dict[int, tuple[int, Callable[[], None]]] = {}

    def watch(self, descriptor: int, mask: int, call: Callable[[], None] | None) -> None:
        """Call when the descriptor is ready; None ends that."""
        known = self._calls.get(descriptor)
        if call is None:
            if known:
                del self._calls[descriptor]
                self._epoll.unregister(descriptor)
            return
        self._calls[descriptor] = (mask, call)
        if not known:
            self._epoll.register(descriptor, mask)
        elif known[0] != mask:
            self._epoll.modify(descriptor, mask)

    def run_once(self, timeout_s: float | None = None) -> None:
        """Wait for something, and handle all that has come."""
        for descriptor, _ in self._epoll.poll(timeout_s):
            entry = self._calls.get(descriptor)
            if entry:
                entry[1]()

    def close(self) -> None:
        """Watch nothing any more."""
        self._epoll.close()


class Port:
    """One port: the client at its other end, and the commands that client has running."""

    def __init__(self, descriptor: int, loop: Loop) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._lines = wire.Lines()
        self._outgoing = b""
        self._commands: dict[int, Command] = {}
        os.set_blocking(descriptor, False)
        loop.watch(descriptor, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET, self._ready)
        self._send({"started": 1})

    def _ready(self) -> None:
        self._flush()
        while True:
            try:
                data = os.read(self._descriptor, wire.CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._reset()
                return
            for message in self._lines.feed(data):
                with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
                    self._handle(message)

    def _reset(self) -> None:
        """The client has gone, or another one has come."""
        self._abandon()
        self._lines = wire.Lines()
        self._outgoing = b""

    def _abandon(self) -> None:
        for command in self._commands.values():
            command.abandon()
        self._commands.clear()

    def _handle(self, message: dict[str, Any]) -> None:
        if "hello" in message:
            self._abandon()
            self._send({"hello": message["hello"]})
            return
        number = int(message["id"])
        if "run" in message:
            command = Command(number, self._send, self._loop.watch, self._forget)
            self._commands[number] = command
            argv = [str(word) for word in message["run"]]
            command.start(argv, message.get("env") or {}, str(message.get("cwd") or ""), message.get("tty"))
        elif number in self._commands:
            self._instruct(self._commands[number], message)

    def _instruct(self, command: Command, message: dict[str, Any]) -> None:
        if "in" in message:
            command.feed(wire.unpack(message["in"]))
        elif "eof" in message:
            command.finish_input()
        elif "took" in message:
            command.taken(int(message["took"]))
        elif "kill" in message:
            command.kill(int(message["kill"]))
        elif "tty" in message:
            command.resize(message["tty"])

    def _forget(self, number: int) -> None:
        self._commands.pop(number, None)

    def _send(self, message: dict[str, Any]) -> None:
        self._outgoing += wire.encode(message)
        self._flush()

    def _flush(self) -> None:
        with contextlib.suppress(OSError):  # full, or nobody there: the port wakes us when that changes
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._descriptor, self._outgoing) :]


def siblings(path: str, ports: Path = PORTS) -> list[str]:
    """The port of that name and its numbered siblings, as device files; the path itself where sysfs has none."""
    wanted = Path(path).name
    found = {}
    for entry in sorted(ports.glob("*/name")):
        name = entry.read_text().strip()
        if name == wanted or name.startswith(f"{wanted}."):
            found[name] = f"/dev/{entry.parent.name}"
    return [found[name] for name in sorted(found)] or [path]


def main(arguments: list[str]) -> None:
    """Serve until the machine ends."""
    loop = Loop()
    ports = [Port(os.open(path, os.O_RDWR | os.O_CLOEXEC), loop) for path in siblings(arguments[0])]
    while ports:
        loop.run_once()


if __name__ == "__main__":
    main(sys.argv[1:])
