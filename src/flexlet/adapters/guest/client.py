"""Commands and files in the guest, for whoever runs on the host.

A `Guest` is one client on one of the machine's ports; other processes use the other ports, and a lock beside each
socket says which are taken. It connects when it is first needed, and again after the connection was lost.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from flexlet.adapters import unixsocket
from flexlet.adapters.guest import wire
from flexlet.adapters.guest.session import Running, Session
from flexlet.errors import HypervisorError, HypervisorGone

PATIENCE_S: Final = 60.0
# A file is there whole or not at all.
_PLACE: Final = 'mkdir -p "$(dirname "$1")" && cat > "$1.part" && chmod "$2" "$1.part" && mv "$1.part" "$1"'


class Completed(msgspec.Struct, frozen=True):
    """A command that has ended."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


class Guest:
    """A client of the exec server; an async context manager that hangs up at the end."""

    def __init__(self, sockets: Sequence[Path]) -> None:
        self._sockets = sockets
        self._session: Session | None = None
        self._lock = -1
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until the guest answers; without that, the first command does."""
        await self._connected(patience_s)

    async def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        tty: tuple[int, int] | None = None,
    ) -> Running:
        """Start a command, in a terminal of that many rows and columns if `tty` says so."""
        session = await self._connected(PATIENCE_S)
        return await session.start({"run": list(argv), "env": dict(env or {}), "cwd": cwd, "tty": tty})

    async def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str = "",
        patience_s: float = PATIENCE_S,
    ) -> Completed:
        """Run a command to its end; one that takes longer than `patience_s` is killed: HypervisorError."""
        running = await self.start(argv, env=env, cwd=cwd)
        try:
            async with asyncio.timeout(patience_s):
                return await _completed(running, stdin)
        except TimeoutError as error:
            await _kill(running)
            raise HypervisorError(f"{' '.join(argv)} did not end within {patience_s:g} s in the guest") from error
        except asyncio.CancelledError:
            await _kill(running)
            raise

    async def write_file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Put a file into the guest, whole or not at all."""
        done = await self.run(
            ["sh", "-c", _PLACE, "sh", path, f"{mode:o}"], stdin=data, patience_s=10 * PATIENCE_S
        )
        _check(done, f"cannot write {path} in the guest")

    async def read_file(self, path: str) -> bytes:
        """The bytes of a file in the guest."""
        done = await self.run(["cat", path], patience_s=10 * PATIENCE_S)
        _check(done, f"cannot read {path} in the guest")
        return done.stdout

    async def send_file(self, source: Path, path: str, mode: int = 0o644) -> None:
        """Copy a file of any size into the guest, whole or not at all."""
        running = await self.start(["sh", "-c", _PLACE, "sh", path, f"{mode:o}"])
        with source.open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, wire.WINDOW):
                await running.write(chunk)
        _check(await _completed(running, b""), f"cannot copy {source} to {path} in the guest")

    async def fetch_file(self, path: str, target: Path) -> None:
        """Copy a file of any size out of the guest."""
        running = await self.start(["cat", path])
        await running.finish_input()
        complaint = b""
        with target.open("wb") as file:
            async for stream, data in running.output():
                if stream == "out":
                    await asyncio.to_thread(file.write, data)
                else:
                    complaint += data
        _check(Completed(await running.wait(), b"", complaint), f"cannot copy {path} out of the guest")

    async def close(self) -> None:
        """Hang up; what is still running in the guest ends."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def _connected(self, patience_s: float) -> Session:
        async with self._connecting:
            if self._session is not None and not self._session.lost:
                return self._session
            await self.close()
            try:
                async with asyncio.timeout(patience_s):
                    return await self._open()
            except TimeoutError as error:
                await self.close()
                raise HypervisorGone(f"the guest has not answered within {patience_s:g} s") from error
            except BaseException:
                await self.close()
                raise

    async def _open(self) -> Session:
        path, self._lock = _take(self._sockets)
        try:
            reader, writer = await asyncio.open_unix_connection(sock=unixsocket.connected(path))
        except OSError as error:
            raise HypervisorGone(
                f"cannot reach the guest through {path}: {error}; is the machine running?"
            ) from error
        self._session = Session(reader, writer)
        await self._session.greet()
        return self._session


def _take(sockets: Sequence[Path]) -> tuple[Path, int]:
    """The first socket that nobody uses, and the lock that says so from now on."""
    for path in sockets:
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
        else:
            return path, lock
    raise HypervisorError(
        f"all {len(sockets)} exec ports of the machine are in use: end one of the commands first"
    )


async def _completed(running: Running, stdin: bytes) -> Completed:
    streams: dict[str, list[bytes]] = {"out": [], "err": []}

    async def listen() -> None:
        async for stream, data in running.output():
            streams[stream].append(data)

    async def feed() -> None:
        await running.write(stdin)
        await running.finish_input()

    await asyncio.gather(listen(), feed())
    return Completed(await running.wait(), b"".join(streams["out"]), b"".join(streams["err"]))


async def _kill(running: Running) -> None:
    with contextlib.suppress(HypervisorGone):
        await running.kill(signal.SIGKILL)


def _check(done: Completed, complaint: str) -> None:
    if done.exit_code:
        raise HypervisorError(f"{complaint}: {done.stderr.decode(errors='replace').strip()}")
