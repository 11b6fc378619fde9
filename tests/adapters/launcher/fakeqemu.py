"""Stands in for QEMU under a launcher: answers QMP as recorded, has a guest with an agent and a console.

What its guest is like is written on its kernel's command line: ``keeps=vcpu-2-0-0`` lets that device not go (and
``keeps=vmem0`` no memory), ``agent=no`` has no agent, ``deaf=yes`` ignores the power button, ``broken=yes`` is no
QEMU that starts at all, ``fails=device_add`` refuses that command. Words typed at its console make things happen:
``reboot``, ``panic``, ``release``, ``die``.
"""

import asyncio
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.adapters.qemu.qmpserver import QmpError, QmpMachine

MIB = 1 << 20
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Fake(QmpMachine):
    """One machine behind two monitors."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        smp, memory = dict(_pairs(self._value("-smp"))), dict(_pairs(self._value("-m")))
        present = 1 + sum("-x86_64-cpu,id=" in word for word in words)
        size = int(memory["size"].removesuffix("M")) * MIB
        spare = int(memory.get("maxmem", memory["size"]).removesuffix("M")) * MIB - size
        super().__init__(present, int(smp["maxcpus"]), spare)
        self.base = size
        self.args = dict(_pairs(self._value("-append").replace(" ", ",")))
        device = next((word for word in words if word.startswith("virtio-mem-pci")), "requested-size=0M")
        asked = int(dict(_pairs(device))["requested-size"].removesuffix("M")) * MIB
        self.elastic |= {"requested-size": asked, "size": asked}
        self.keeps = set(filter(None, [self.args.get("keeps", "")]))
        self.online = present
        self.status = "inmigrate" if "-incoming" in words else "running"
        self.migration: dict[str, Any] = {}
        self.consoles: list[asyncio.StreamWriter] = []

    def _value(self, option: str) -> str:
        return self.words[self.words.index(option) + 1] if option in self.words else ""

    def _run(self, command: str, arguments: dict[str, Any]) -> Any:
        if command == self.args.get("fails"):
            raise QmpError(f"{command} fails today")
        return super()._run(command, arguments)

    def _query_memory_size_summary(self) -> Any:
        return {"base-memory": self.base, "plugged-memory": 0}

    def _query_memory_devices(self) -> Any:
        return super()._query_memory_devices() if self.spare else []

    def _query_status(self) -> Any:
        return {"status": self.status, "running": self.status == "running"}

    def _query_chardev(self) -> Any:
        is_open = self.args.get("agent") != "no"
        return [{"label": "agent", "filename": "unix:", "frontend-open": is_open}]

    def _human_monitor_command(self, command_line: str) -> Any:
        del command_line
        return "Block Name PSize Offset Used Total HVA RO\n"

    def _migrate_incoming(self, uri: str) -> Any:
        path = uri.removeprefix("unix:")
        self.arriving = asyncio.ensure_future(asyncio.start_unix_server(self._arrive, path))
        return {}

    async def _arrive(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        self.status = "running"
        self.happen("RESUME", {})

    def _migrate(self, uri: str) -> Any:
        self.migration = {"status": "active", "ram": {"transferred": 7 * MIB}, "total-time": 10}
        self.sending = asyncio.ensure_future(self._send(uri.removeprefix("unix:")))
        return {}

    async def _send(self, path: str) -> None:
        try:
            _, writer = await asyncio.open_unix_connection(path)
            writer.close()
        except OSError as error:
            self.migration = {"status": "failed", "error-desc": f"Failed to connect to '{path}': {error.strerror}"}
            return
        self.status = "postmigrate"
        self.migration |= {"status": "completed", "ram": {"transferred": 9 * MIB}, "total-time": 20, "downtime": 3}
        self.happen("STOP", {})

    def _query_migrate(self) -> Any:
        return self.migration

    def _quit(self) -> Any:
        asyncio.get_running_loop().call_later(0.02, os._exit, 0)
        return super()._quit()

    def _system_powerdown(self) -> Any:
        self.happen("POWERDOWN", {})
        if self.args.get("deaf") != "yes":
            self.end("guest-shutdown")
        return {}

    def end(self, reason: str) -> None:
        self.happen("SHUTDOWN", {"guest": True, "reason": reason})
        asyncio.get_running_loop().call_later(0.05, os._exit, 0)

    # -- the guest

    async def agent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            request = json.loads(line)
            answer = getattr(self, "agent_" + request["execute"].replace("-", "_"))(request.get("arguments", {}))
            writer.write(json.dumps({"return": answer}).encode() + b"\n")

    def agent_guest_sync(self, arguments: dict[str, Any]) -> int:
        return int(arguments["id"])

    def agent_guest_get_vcpus(self, _: dict[str, Any]) -> list[dict[str, Any]]:
        self.online = min(self.online, len(self.sockets))
        return [{"logical-id": n, "online": n < self.online} for n in range(len(self.sockets))]

    def agent_guest_set_vcpus(self, arguments: dict[str, Any]) -> int:
        self.online = len(self.sockets)
        return len(arguments["vcpus"])

    async def console(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.consoles.append(writer)
        writer.write(b"guest: hello\n")
        while line := await reader.readline():
            word = line.decode().strip()
            writer.write(f"guest: heard {word}\n".encode())
            getattr(self, f"word_{word}", lambda: None)()

    def word_reboot(self) -> None:
        self.happen("RESET", {"guest": True, "reason": "guest-reset"})
        self.elastic["size"] = 0
        asyncio.get_running_loop().call_later(
            0.2, self._qom_set, "vmem0", "requested-size", self.elastic["requested-size"]
        )

    def word_release(self) -> None:
        self.keeps.clear()
        self._qom_set("vmem0", "requested-size", self.elastic["requested-size"])

    def word_panic(self) -> None:
        self.end("guest-panic")

    def word_die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(key, value) for key, _, value in (part.partition("=") for part in text.split(","))]


async def _serve(words: list[str], channel: str, serve: Serve) -> None:
    found = next(
        re.match(rf"socket,id={channel},fd=(\d+)", word)
        for word in words
        if word.startswith(f"socket,id={channel},")
    )
    assert found
    listener = socket.socket(fileno=int(found[1]))
    listener.setblocking(False)
    await asyncio.start_unix_server(serve, sock=listener)


def _write_pid(path: Path) -> None:
    path.write_text(str(os.getpid()))


async def main(words: list[str]) -> None:
    machine = Fake(words)
    machine.kvm = False
    if machine.args.get("broken") == "yes":
        sys.exit("fakeqemu: -machine q35: no such machine")
    _write_pid(Path(words[words.index("-pidfile") + 1]))
    for channel, serve in {"qmp0": machine.serve, "serial": machine.console, "agent": machine.agent}.items():
        await _serve(words, channel, serve)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
