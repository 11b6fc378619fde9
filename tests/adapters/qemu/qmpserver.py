"""A QMP server that behaves as QEMU was recorded, for tests without QEMU.

It speaks the protocol (greeting, capabilities, ids, errors, events) and keeps just enough of a machine: CPU slots,
modules, elastic memory. Its guest lets devices go, keeps those in `keeps`, and ignores requests for those in
`ignores`. `hang_up_on` is a command upon which the connection breaks before the answer, carried out or not.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

GREETING = {"QMP": {"version": {"qemu": {"micro": 2, "minor": 0, "major": 10}, "package": ""}, "capabilities": []}}


class QmpError(Exception):
    """An error as QMP tells it."""

    def __init__(self, description: str, kind: str = "GenericError") -> None:
        super().__init__(description)
        self.answer = {"class": kind, "desc": description}


class QmpMachine:
    """The machine behind the monitor."""

    def __init__(self, cpus: int = 2, max_cpus: int = 8, spare: int = 14 << 30) -> None:
        self.sockets = {n: f"/machine/peripheral/vcpu-{n}-0-0" for n in range(1, cpus)}
        self.sockets[0] = "/machine/unattached/device[0]"
        self.max_cpus = max_cpus
        self.spare = spare
        self.backends: dict[str, int] = {}
        self.dimms: dict[str, dict[str, Any]] = {}
        self.kvm = True
        self.elastic = {"requested-size": 0, "size": 0, "max-size": spare, "block-size": 2 << 20}
        self.keeps: set[str] = set()
        self.ignores: set[str] = set()
        self.pending: set[str] = set()
        self.hang_up_on = ""
        self.hang_up_after = False
        self.commands: list[str] = []
        self._clients: list[asyncio.StreamWriter] = []
        self._greeted = asyncio.Lock()

    # -- protocol

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with self._greeted:  # one client at a time; others wait in the queue
            self._clients.append(writer)
            with contextlib.suppress(OSError):
                await self._talk(reader, writer)
            self._clients.remove(writer)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _send(writer, GREETING)
        async for request in _requests(reader):
            command = request["execute"]
            if command == self.hang_up_on:
                self.hang_up_on = ""
                if self.hang_up_after:
                    self._run(command, request.get("arguments", {}))
                return
            try:
                answer = {"return": self._run(command, request.get("arguments", {}))}
            except QmpError as error:
                answer = {"error": error.answer}
            _send(writer, {**answer, **({"id": request["id"]} if "id" in request else {})})
            if command == "quit":
                return

    def happen(self, name: str, data: dict[str, Any]) -> None:
        for writer in self._clients:
            _send(writer, {"event": name, "data": data, "timestamp": {"seconds": 0, "microseconds": 0}})

    # -- machine

    def _run(self, command: str, arguments: dict[str, Any]) -> Any:
        self.commands.append(command)
        method = getattr(self, "_" + command.replace("-", "_"), None)
        return method(**{key.replace("-", "_"): value for key, value in arguments.items()}) if method else {}

    def _query_kvm(self) -> Any:
        return {"enabled": self.kvm, "present": True}

    def _query_hotpluggable_cpus(self) -> Any:
        def entry(number: int) -> dict[str, Any]:
            props = {"socket-id": number, "core-id": 0, "thread-id": 0, "node-id": 0}
            path = {"qom-path": self.sockets[number]} if number in self.sockets else {}
            return {"type": "max-x86_64-cpu", "vcpus-count": 1, "props": props, **path}

        return [entry(number) for number in reversed(range(self.max_cpus))]

    def _query_memory_size_summary(self) -> Any:
        return {"base-memory": 2 << 30, "plugged-memory": sum(dimm["size"] for dimm in self.dimms.values())}

    def _query_memory_devices(self) -> Any:
        dimms = [{"type": "dimm", "data": dimm} for dimm in self.dimms.values()]
        return [{"type": "virtio-mem", "data": {**self.elastic, "id": "vmem0"}}, *dimms]

    def _object_add(self, qom_type: str, id: str, size: int) -> Any:  # noqa: A002
        del qom_type
        if id in self.backends:
            raise QmpError(f"attempt to add duplicate property '{id}' to object (type 'container')")
        self.backends[id] = size
        return {}

    def _object_del(self, id: str) -> Any:  # noqa: A002
        if id not in self.backends:
            raise QmpError(f"object '{id}' not found")
        if id in {dimm["memdev"] for dimm in self.dimms.values()}:
            raise QmpError(f"object '{id}' is in use, can not be deleted")
        del self.backends[id]
        return {}

    def _device_add(self, driver: str, id: str, **props: Any) -> Any:  # noqa: A002
        if driver == "pc-dimm":
            return self._add_dimm(id, **props)
        if props["socket_id"] in self.sockets:
            raise QmpError(f"Duplicate device ID '{id}'")
        self.sockets[props["socket_id"]] = f"/machine/peripheral/{id}"
        self._answer(id, 1, 0)
        return {}

    def _add_dimm(self, name: str, memdev: str, slot: int) -> Any:
        if name in self.dimms:
            raise QmpError(f"Duplicate device ID '{name}'")
        if sum(dimm["size"] for dimm in self.dimms.values()) + self.backends[memdev] > self.spare:
            raise QmpError("not enough space, currently 0x0 in use of total space for memory devices")
        self.dimms[name] = {"id": name, "slot": slot, "size": self.backends[memdev], "memdev": memdev}
        self._answer(name, 1, 0)
        return {}

    def _device_del(self, id: str) -> Any:  # noqa: A002
        if id == self.sockets[0]:
            raise QmpError("Boot CPU is unpluggable")
        if id not in self.dimms and f"/machine/peripheral/{id}" not in self.sockets.values():
            raise QmpError(f"Device '{id}' not found", "DeviceNotFound")
        if id in self.ignores:
            if id in self.pending:
                raise QmpError(f"Device {id} is already in the process of unplug")
            self.pending.add(id)
            return {}
        asyncio.get_running_loop().call_later(0.01, self._let_go, id)
        return {}

    def _let_go(self, name: str) -> None:
        self._answer(name, 3, 132)
        if name in self.keeps:
            self._answer(name, 3, 130)
        elif name in self.dimms:
            del self.dimms[name]
            self.happen("DEVICE_DELETED", {"device": name, "path": f"/machine/peripheral/{name}"})
            self._answer(name, 3, 0, named=False)
        else:
            number = next(n for n, path in self.sockets.items() if path.endswith(f"/{name}"))
            del self.sockets[number]
            self.happen("DEVICE_DELETED", {"path": f"/machine/peripheral/{name}/lapic"})
            self._answer(name, 3, 0, named=False)

    def _answer(self, name: str, source: int, status: int, *, named: bool = True) -> None:
        kind, slot = (
            ("DIMM", name.removeprefix("dimm")) if name.startswith("dimm") else ("CPU", name.split("-")[1])
        )
        info = {"source": source, "status": status, "slot": slot, "slot-type": kind}
        self.happen("ACPI_DEVICE_OST", {"info": {**({"device": name} if named else {}), **info}})

    def _qom_set(self, path: str, property: str, value: int) -> Any:  # noqa: A002
        assert (path, property) == ("vmem0", "requested-size")
        if value % self.elastic["block-size"]:
            raise QmpError("'requested-size' has to be multiples of 'block-size' (0x200000)")
        if value > self.elastic["max-size"]:
            raise QmpError("'requested-size' cannot exceed the memory backend size(0x380000000)")
        self.elastic["requested-size"] = value
        if not ("vmem0" in self.keeps and value < self.elastic["size"]):
            self.elastic["size"] = value
            path = "/machine/peripheral/vmem0"
            self.happen("MEMORY_DEVICE_SIZE_CHANGE", {"size": value, "qom-path": path, "id": "vmem0"})
        return {}

    def _quit(self) -> Any:
        self.happen("SHUTDOWN", {"guest": False, "reason": "host-qmp-quit"})
        return {}

    def _system_powerdown(self) -> Any:
        self.happen("POWERDOWN", {})
        self.happen("SHUTDOWN", {"guest": True, "reason": "guest-shutdown"})
        for writer in self._clients:
            asyncio.get_running_loop().call_later(0.05, writer.close)
        return {}


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """Objects follow each other without anything in between."""
    text = ""
    while data := await reader.read(65536):
        text = (text + data.decode()).lstrip()
        while text:
            try:
                request, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                break
            text = text[end:].lstrip()
            yield request


def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message).encode() + b"\r\n")


@contextlib.asynccontextmanager
async def serving(machine: QmpMachine, path: Path) -> AsyncIterator[None]:
    """The machine's monitor at a socket."""
    server = await asyncio.start_unix_server(machine.serve, path)
    try:
        yield
    finally:
        server.close()
        for writer in list(machine._clients):
            writer.close()
        async with machine._greeted:
            pass
