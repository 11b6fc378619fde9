"""What is asked of systemd's manager: units started, changed and stopped, each until it is done.

Where systemd's private socket is there it is used, as ``systemctl`` does, so that no bus has to run; else the
system bus. A connection that broke (``systemctl daemon-reexec`` closes it) is made anew, and the call made once
more: every call here may be repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from flexlet.adapters.units import connection as dbus
from flexlet.adapters.units import wire
from flexlet.adapters.units.connection import Connection, Refused
from flexlet.adapters.units.wire import Message, Variant
from flexlet.core.cgroups.units import UnitProperty
from flexlet.errors import HostBusy, HostError

PRIVATE: Final = Path("/run/systemd/private")
SYSTEM_BUS: Final = Path("/run/dbus/system_bus_socket")
PATIENCE_S: Final = 30.0
"""For one call with the job that it begins."""

_SYSTEMD: Final = "org.freedesktop.systemd1"
_PATH: Final = "/org/freedesktop/systemd1"
_MANAGER: Final = "org.freedesktop.systemd1.Manager"
_MATCH: Final = f"type='signal',interface='{_MANAGER}',member='JobRemoved',path='{_PATH}'"
_UNIT_EXISTS: Final = "org.freedesktop.systemd1.UnitExists"
_NO_SUCH_UNIT: Final = "org.freedesktop.systemd1.NoSuchUnit"
_REPLACE: Final = "replace"

Result = TypeVar("Result")


class SystemdManager:
    """systemd as its users see it; connects when it is first needed."""

    def __init__(self, private: Path = PRIVATE, bus: Path = SYSTEM_BUS, patience_s: float = PATIENCE_S) -> None:
        self._private = private
        self._bus = bus
        self._patience_s = patience_s
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._ended: dict[str, asyncio.Future[str]] = {}

    async def start(self, unit: str, properties: Iterable[UnitProperty]) -> None:
        """Make a transient unit and start it; one that is there already is started as it is."""
        values = [_pair(each) for each in properties]
        try:
            await self._job(unit, "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, _REPLACE, values, [])
        except Refused as why:
            if why.name != _UNIT_EXISTS:
                raise _error(f"start {unit}", why) from why
            await self._plain_job(unit, "StartUnit")

    async def change(self, unit: str, properties: Iterable[UnitProperty]) -> None:
        """Set properties of a unit until the machine is started anew; HostError if systemd refuses."""
        values = [_pair(each) for each in properties]
        try:
            await self._ask(unit, "SetUnitProperties", "sba(sv)", unit, True, values)
        except Refused as why:
            raise _error(f"set {', '.join(name for name, _ in values)} of {unit}", why) from why

    async def stop(self, unit: str) -> None:
        """Stop a unit, and forget it if it has failed; one that systemd does not know needs neither."""
        try:
            await self._job(unit, "StopUnit", "ss", unit, _REPLACE)
            await self._ask(unit, "ResetFailedUnit", "s", unit)
        except Refused as why:
            if why.name != _NO_SUCH_UNIT:
                raise _error(f"stop {unit}", why) from why

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _plain_job(self, unit: str, method: str) -> None:
        try:
            await self._job(unit, method, "ss", unit, _REPLACE)
        except Refused as why:
            raise _error(f"start {unit}", why) from why

    async def _ask(self, unit: str, method: str, signature: str, *body: Any) -> tuple[Any, ...]:
        async def ask() -> tuple[Any, ...]:
            connection = await self._connected()
            return await connection.call(_SYSTEMD, _PATH, _MANAGER, method, signature, *body)

        return await self._patiently(f"{method} {unit}", ask)

    async def _job(self, unit: str, method: str, signature: str, *body: Any) -> None:
        """A call that begins a job, and the job."""

        async def work() -> str:
            connection = await self._connected()
            (job,) = await connection.call(_SYSTEMD, _PATH, _MANAGER, method, signature, *body)
            return await self._end_of(job, connection)

        result = await self._patiently(f"{method} {unit}", work)
        if result not in {"done", "skipped"}:
            raise HostError(f"cannot {method} {unit}: the job ended as {result}; see `systemctl status {unit}`")

    async def _end_of(self, job: str, connection: Connection) -> str:
        """The signal may have come before the answer was looked at."""
        try:
            return await connection.until(self._ended.setdefault(job, asyncio.get_running_loop().create_future()))
        finally:
            self._ended.pop(job, None)

    def _hear(self, message: Message) -> None:
        if message.fields.get(wire.MEMBER) != "JobRemoved" or message.signature != "uoss":
            return
        _, job, _, result = message.body
        future = self._ended.setdefault(job, asyncio.get_running_loop().create_future())
        if not future.done():
            future.set_result(result)
        # Jobs of others end, too; those nobody asks for within the patience are forgotten.
        asyncio.get_running_loop().call_later(self._patience_s, self._ended.pop, job, None)

    async def _patiently(self, doing: str, work: Callable[[], Awaitable[Result]]) -> Result:
        try:
            async with asyncio.timeout(self._patience_s):
                try:
                    return await work()
                except ConnectionError:
                    return await work()
        except TimeoutError as error:
            raise HostBusy(f"cannot {doing}: systemd does not answer within {self._patience_s:g} s") from error
        except OSError as error:
            raise HostBusy(f"cannot {doing}: systemd is out of reach: {error.strerror or error}") from error

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None or not self._connection.is_open:
                self._connection = await self._connect()
            return self._connection

    async def _connect(self) -> Connection:
        try:
            return await dbus.connect(self._private, self._hear, is_bus=False)
        except OSError as private:
            try:
                made = await dbus.connect(self._bus, self._hear, is_bus=True)
                await made.call(dbus.BUS, dbus.BUS_PATH, dbus.BUS, "AddMatch", "s", _MATCH)
                await made.call(_SYSTEMD, _PATH, _MANAGER, "Subscribe")
            except (OSError, Refused) as error:
                text = f"neither at {self._private} ({private}) nor at {self._bus} ({error})"
                raise ConnectionRefusedError(text) from error
            return made


def _pair(each: UnitProperty) -> tuple[str, Variant]:
    return each.name, Variant(each.signature, each.value)


def _error(doing: str, why: Refused) -> HostError:
    return HostError(f"cannot {doing}: systemd says {why.name.rpartition('.')[2]}: {why}")
