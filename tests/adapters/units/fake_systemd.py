"""A systemd in memory: it answers on a unix socket as the real one, and keeps the cgroups of a simulated kernel.

What matters of the real one: it writes what it knows, to all of its units when it reloads, and the kernel's
default where it knows nothing; a slice that is stopped takes those below it along.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from flexlet.adapters.sim.kernel import Kernel
from flexlet.adapters.units import wire
from flexlet.adapters.units.wire import Message, Variant
from flexlet.api.cpuset import CpuSet
from flexlet.core.cgroups.units import INFINITY, slice_path

_KNOWN: Final = {
    "MemoryMax": ("t", "memory.max", INFINITY),
    "MemoryHigh": ("t", "memory.high", INFINITY),
    "MemoryLow": ("t", "memory.low", 0),
    "MemoryMin": ("t", "memory.min", 0),
    "MemorySwapMax": ("t", "memory.swap.max", INFINITY),
    "CPUWeight": ("t", "cpu.weight", 100),
    "TasksMax": ("t", "pids.max", INFINITY),
    "AllowedCPUs": ("ay", "cpuset.cpus", b""),
    "AllowedMemoryNodes": ("ay", "cpuset.mems", b""),
}
_OTHERS: Final = {
    "Description": "s",
    "Wants": "as",
    "DefaultDependencies": "b",
    "CPUQuotaPerSecUSec": "t",
    "CPUQuotaPeriodUSec": "t",
    **dict.fromkeys(("MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting"), "b"),
}
_ERRORS: Final = "org.freedesktop.systemd1."


class Failure(Exception):
    """An answer that is an error."""


class FakeSystemd:
    """`serve` it; `units` are those it knows with their properties, `calls` what it was asked."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.units: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.greetings: list[bytes] = []
        self.is_deaf = False
        """Take calls, and never answer."""
        self.job_result = "done"
        self._serials = itertools.count(1)
        self._jobs = itertools.count(1)
        self._writers: list[asyncio.StreamWriter] = []
        self._meetings: set[asyncio.Task[Any]] = set()

    @contextlib.asynccontextmanager
    async def serve(self, path: Path) -> AsyncIterator[None]:
        """Listen for a while."""
        server = await asyncio.start_unix_server(self._meet, str(path))
        try:
            yield
        finally:
            server.close()
            self.reexec()
            await asyncio.wait({*self._meetings, asyncio.create_task(asyncio.sleep(0.01))})

    def reload(self) -> None:
        """``systemctl daemon-reload`` and whatever makes it look at a unit again."""
        for unit in self.units:
            self._realize(unit)

    def reexec(self) -> None:
        """``systemctl daemon-reexec``: it knows everything still, and all connections are gone."""
        while self._writers:
            self._writers.pop().close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        task = asyncio.current_task()
        assert task is not None
        self._meetings.add(task)
        self.greetings.append(await reader.readuntil(b"\r\n"))
        writer.write(b"OK 0123456789abcdef0123456789abcdef\r\n")
        await reader.readuntil(b"BEGIN\r\n")
        try:
            while True:
                head = await reader.readexactly(wire.HEAD)
                self._answer(wire.decode(head + await reader.readexactly(wire.length(head) - len(head))), writer)
        except (EOFError, ConnectionError):
            writer.close()

    def _answer(self, call: Message, writer: asyncio.StreamWriter) -> None:
        member = call.fields[wire.MEMBER]
        self.calls.append(" ".join((member, *(each for each in call.body[:1] if isinstance(each, str)))))
        if self.is_deaf:
            return
        to = {wire.REPLY_SERIAL: call.serial}
        try:
            signature, body, after = self._do(member, call)
        except Failure as failure:
            name, text = failure.args
            self._send(writer, wire.ERROR, {**to, wire.ERROR_NAME: name}, "s", (text,))
            return
        # Signals overtake answers now and then.
        for each in after:
            self._send(writer, wire.SIGNAL, *each)
        self._send(writer, wire.REPLY, to, signature, body)

    def _do(self, member: str, call: Message) -> tuple[str, tuple[Any, ...], list[Any]]:
        match member:
            case "StartTransientUnit":
                name, _, properties, _ = call.body
                if name in self.units:
                    raise Failure(
                        f"{_ERRORS}UnitExists", f"Unit {name} was already loaded or has a fragment file."
                    )
                self.units[name] = {}
                self._set(name, properties)
                return self._job(name)
            case "StartUnit":
                self._realize(call.body[0])
                return self._job(call.body[0])
            case "SetUnitProperties":
                name, is_for_now, properties = call.body
                assert is_for_now
                self._set(self._loaded(name), properties)
                return "", (), []
            case "StopUnit":
                self._stop(self._loaded(call.body[0]))
                return self._job(call.body[0])
            case "ResetFailedUnit":
                self._loaded(call.body[0])
                return "", (), []
            case "Hello":
                return "s", (":1.7",), []
            case "AddMatch" | "Subscribe":
                return "", (), []
        raise Failure("org.freedesktop.DBus.Error.UnknownMethod", f"Unknown method {member}")

    def _loaded(self, name: str) -> str:
        if name not in self.units:
            raise Failure(f"{_ERRORS}NoSuchUnit", f"Unit {name} not loaded.")
        return name

    def _set(self, name: str, properties: list[tuple[str, Variant]]) -> None:
        for key, variant in properties:
            kind = _OTHERS.get(key) or _KNOWN.get(key, ("",))[0]
            if variant.signature != kind or (key == "TasksMax" and not variant.value):
                raise Failure("org.freedesktop.DBus.Error.InvalidArgs", f"Cannot set property {key}")
            self.units[name][key] = variant.value
        self._realize(name)

    def _stop(self, name: str) -> None:
        path = self.path(name)
        for each in [each for each in self.units if f"{self.path(each)}/".startswith(f"{path}/")]:
            del self.units[each]
        for each in reversed(self.kernel.machine.below(path)):
            if not self.kernel.machine.inside(each):
                self.kernel.machine.rmdir(each)

    def path(self, name: str) -> str:
        """Where a unit's cgroup lies."""
        if name.endswith(".slice"):
            return slice_path(name)
        return next(each for each in self.kernel.machine.cgroups if each.rpartition("/")[2] == name)

    def _realize(self, name: str) -> None:
        self.kernel.machine.mkdir(self.path(name))
        for file, text in _files(self.units[name]):
            self.kernel.write(self.path(name), file, text)

    def _job(self, name: str) -> tuple[str, tuple[Any, ...], list[Any]]:
        number = next(self._jobs)
        job = f"/org/freedesktop/systemd1/job/{number}"
        fields = {
            wire.PATH: "/org/freedesktop/systemd1",
            wire.INTERFACE: "org.freedesktop.systemd1.Manager",
            wire.MEMBER: "JobRemoved",
        }
        noise = {**fields, wire.MEMBER: "UnitFilesChanged"}
        signals = [(noise, "", ()), (fields, "uoss", (number, job, name, self.job_result))]
        return "o", (job,), signals

    def _send(
        self,
        writer: asyncio.StreamWriter,
        kind: int,
        fields: dict[int, Any],
        signature: str,
        body: tuple[Any, ...],
    ) -> None:
        writer.write(wire.encode(Message(kind, next(self._serials), fields, signature, body)))


def _files(known: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, (_, file, default) in _KNOWN.items():
        value = known.get(key, default)
        if isinstance(value, bytes):
            ids = (at for at in range(len(value) * 8) if value[at // 8] >> at % 8 & 1)
            yield file, str(CpuSet.of(ids)) or "\n"
        else:
            yield file, "max" if value == INFINITY else str(value)
    yield "memory.oom.group", "0"
    per_second = known.get("CPUQuotaPerSecUSec", INFINITY)
    period = 100_000 if per_second == INFINITY else known.get("CPUQuotaPeriodUSec", 100_000)
    yield "cpu.max", f"{'max' if per_second == INFINITY else per_second * period // 1_000_000} {period}"
