"""A machine that lives as long as the block that uses it.

Its data stays: the next block of the same name finds the same disk and the same devices plugged. QEMU is our
child, and the kernel ends it if we are killed; one that was left over all the same is ended before the new
start.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from subprocess import Popen
from typing import Final

import msgspec

from flexlet.adapters import image
from flexlet.adapters.guest.client import Guest
from flexlet.adapters.qemu import machine as machines
from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.directory import MachineDirectory, making, place
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.apps.lab import booting, parts
from flexlet.apps.lab.parts import Parts, Progress
from flexlet.core.lab.arguments import Accelerator
from flexlet.core.lab.spec import MachineSpec, Record, check, factory
from flexlet.errors import HypervisorError

STOP_S: Final = 30.0
_FOREVER_S: Final = 10.0**9


class Machine:
    """A running machine: `hypervisor` changes its size, `guest` runs commands in it."""

    def __init__(
        self,
        directory: MachineDirectory,
        accelerator: Accelerator,
        hypervisor: QemuHypervisor,
        guest: Guest,
        child: Popen[bytes] | None,
    ) -> None:
        self.directory = directory
        self.accelerator = accelerator
        self.hypervisor = hypervisor
        self.guest = guest
        self._child = child

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.directory.name

    @property
    def console(self) -> Path:
        """Where its serial console is written to."""
        return self.directory.file("console.log")

    async def ended(self) -> None:
        """Wait until the machine has ended, for whatever reason."""
        process = processes.find(self.directory.file("pid"))
        if process is not None:
            with process:
                await process.ended(_FOREVER_S)

    async def stop(self, patience_s: float = STOP_S) -> bool:
        """Switch off, by force after that time; False if it took force. Its data is kept."""
        with contextlib.suppress(HypervisorError):
            await self.hypervisor.remember()
        clean = await machines.stop(self.directory, self.hypervisor, patience_s)
        if self._child is not None:
            self._child.wait()
        return clean


@contextlib.asynccontextmanager
async def running(
    spec: MachineSpec,
    config_files: Mapping[str, bytes],
    forwards: Mapping[int, int],
    progress: Progress,
    *,
    data: Path,
    cache: Path | None = None,
    has_vms: bool = False,
) -> AsyncIterator[Machine]:
    """A machine in ``data/machines``, booted, with its files in ``/etc/flexlet``; switched off at the end.

    `forwards` brings ports of the guest (values) to the host's loopback (keys); `has_vms`: it brings along what
    virtual machines in it need.
    """
    check(spec)
    shared = await parts.gather(cache or image.default_cache(), progress, has_vms=has_vms)
    directory = place(data, spec.name)
    record = Record(spec, factory(spec), dict(forwards), has_vms)
    _ensure(directory, record)
    async with contextlib.AsyncExitStack() as stack:
        async with directory.locked():
            await _clear_leftovers(directory, progress)
            _adopt(directory, record)
            await parts.furnish(shared, directory, progress)
            parts.configure(directory, config_files)
            progress(f"starting machine {spec.name}, {shared.manner}")
            machine = await _start(shared, directory, stack)
        waited_s = await booting.ready(directory)
        progress(f"machine {spec.name} is up after {waited_s:.0f} s")
        yield machine


async def _start(shared: Parts, directory: MachineDirectory, stack: contextlib.AsyncExitStack) -> Machine:
    child = await machines.start(shared.qemu, directory, shared.images, shared.accelerator, owned=True)
    hypervisor = await stack.enter_async_context(machines.hypervisor(directory))
    guest = await stack.enter_async_context(Guest(directory.ports))
    machine = Machine(directory, shared.accelerator, hypervisor, guest, child)
    stack.push_async_callback(machine.stop)
    return machine


def _ensure(directory: MachineDirectory, record: Record) -> None:
    """Make the machine if there is none."""
    if not directory.file("spec.json").exists():
        with making(directory.path.parent, directory.name) as fresh:
            fresh.save(record)


def _adopt(directory: MachineDirectory, record: Record) -> None:
    """Keep what is plugged if it is still the same machine."""
    known = directory.load()
    kept = known.inventory if known.spec == record.spec else record.inventory
    directory.save(msgspec.structs.replace(record, inventory=kept))


async def _clear_leftovers(directory: MachineDirectory, progress: Progress) -> None:
    if processes.running([directory.file("pid")]):
        progress(f"ending machine {directory.name}, which was left running")
        async with machines.hypervisor(directory, monitor=1) as hypervisor:
            await machines.stop(directory, hypervisor, STOP_S)
    machines.clear(directory)
