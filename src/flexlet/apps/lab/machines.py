"""Machines that stand on their own: made by one command, used and deleted by others.

Every function takes the data directory and a name, and works on the machine alone (its directory is locked), so
commands that are typed at the same time do not get into each other's way. They use the second monitor: the
first one belongs to whoever runs the machine.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from flexlet.adapters import image
from flexlet.adapters.guest.client import Guest
from flexlet.adapters.qemu import directory, processes
from flexlet.adapters.qemu import machine as qemu
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.apps.lab import booting, parts
from flexlet.apps.lab.parts import Parts, Progress
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MachineSpec, Record, check, factory
from flexlet.engine.lab import sizing
from flexlet.engine.lab.sizing import Change, Wish
from flexlet.errors import ConfigError, HypervisorError

CLI_MONITOR: Final = 1
STOP_S: Final = 60.0


class Listed(msgspec.Struct, frozen=True):
    """A machine in a list; sizes are what is plugged, or will be at the next start."""

    name: str
    state: Literal["Running", "Stopped"]
    cpus: int
    max_cpus: int
    memory: int
    max_memory: int
    accelerator: str = ""
    pid: int = 0
    forwards: dict[int, int] = {}


def find(data: Path, name: str) -> MachineDirectory | None:
    """The machine of that name, if there is one."""
    machine = directory.place(data, name)
    return machine if machine.file("spec.json").exists() else None


def get(data: Path, name: str) -> MachineDirectory:
    """The machine of that name, or ConfigError."""
    machine = find(data, name)
    if machine is None:
        raise ConfigError(f"there is no machine {name}: `flexlet lab list` shows those there are")
    return machine


def listed(data: Path) -> list[Listed]:
    """All machines, by name."""
    found = directory.machines(directory.place(data, "any").path.parent)
    seen = processes.running([machine.file("pid") for machine in found])
    return [_entry(machine, seen.get(machine.file("pid"))) for machine in found]


async def create(
    data: Path,
    spec: MachineSpec,
    config_files: Mapping[str, bytes],
    forwards: Mapping[int, int],
    progress: Progress,
    cache: Path | None = None,
    *,
    has_vms: bool = False,
) -> None:
    """Make a machine and start it; returns when its guest is up."""
    check(spec)
    shared = await parts.gather(cache or image.default_cache(), progress, has_vms=has_vms)
    machine = directory.place(data, spec.name)
    with directory.making(machine.path.parent, spec.name) as fresh:
        fresh.save(Record(spec, factory(spec), dict(forwards), has_vms))
        parts.configure(fresh, config_files)
        await parts.furnish(shared, fresh, progress)
    try:
        await _start(shared, machine, progress)
    except HypervisorError:
        if not processes.running([machine.file("pid")]):
            directory.remove(machine)
        raise


async def start(data: Path, name: str, progress: Progress, cache: Path | None = None) -> None:
    """Start a machine that does not run, with what was plugged when it ran last."""
    machine = get(data, name)
    if processes.running([machine.file("pid")]):
        raise ConfigError(f"machine {name} runs already")
    has_vms = machine.load().has_vms
    shared = await parts.gather(cache or image.default_cache(), progress, has_vms=has_vms)
    await _start(shared, machine, progress)


async def stop(data: Path, name: str, patience_s: float = STOP_S) -> bool:
    """Switch a machine off, by force after that time; False if it took force."""
    machine = get(data, name)
    async with machine.locked(), qemu.hypervisor(machine, CLI_MONITOR) as hypervisor:
        with contextlib.suppress(HypervisorError):
            await hypervisor.remember()
        return await qemu.stop(machine, hypervisor, patience_s)


async def delete(data: Path, name: str) -> None:
    """End a machine at once and remove all it has on disk."""
    machine = get(data, name)
    async with machine.locked():
        async with qemu.hypervisor(machine, CLI_MONITOR) as hypervisor:
            await qemu.cut(machine, hypervisor)
        directory.remove(machine)


async def plug(data: Path, name: str, wish: Wish, *, online: bool) -> Change | Refused:
    """Add CPUs and memory; bring them online in the guest unless told otherwise."""
    async with _running(data, name) as machine:
        return await _resize(machine, wish, online, sizing.plug)


async def unplug(data: Path, name: str, wish: Wish, *, online: bool) -> Change | Refused:
    """Take CPUs and memory out, as far as the guest lets them go."""
    async with _running(data, name) as machine:
        return await _resize(machine, wish, online, sizing.unplug)


def guest(data: Path, name: str) -> Guest:
    """A client for commands in a machine."""
    return Guest(_check_running(get(data, name)).ports)


def is_running(data: Path, name: str) -> bool:
    """Whether a machine runs."""
    return bool(processes.running([get(data, name).file("pid")]))


async def _resize(machine: MachineDirectory, wish: Wish, talk: bool, change: sizing.Deed) -> Change | Refused:
    async with qemu.hypervisor(machine, CLI_MONITOR) as hypervisor, Guest(machine.ports) as inside:
        return await change(hypervisor, inside if talk else None, wish)


@contextlib.asynccontextmanager
async def _running(data: Path, name: str) -> AsyncIterator[MachineDirectory]:
    machine = get(data, name)
    async with machine.locked():
        yield _check_running(machine)


def _check_running(machine: MachineDirectory) -> MachineDirectory:
    if not processes.running([machine.file("pid")]):
        raise ConfigError(f"machine {machine.name} does not run: `flexlet lab start {machine.name}` starts it")
    return machine


async def _start(shared: Parts, machine: MachineDirectory, progress: Progress) -> None:
    async with machine.locked():
        await parts.furnish(shared, machine, progress)
        progress(f"starting machine {machine.name}, {shared.manner}")
        await qemu.start(shared.qemu, machine, shared.images, shared.accelerator, owned=False)
    waited_s = await booting.ready(machine)
    progress(f"machine {machine.name} is up after {waited_s:.0f} s")


def _entry(machine: MachineDirectory, seen: processes.Seen | None) -> Listed:
    record = machine.load()
    spec, inventory = record.spec, record.inventory
    return Listed(
        name=machine.name,
        state="Running" if seen else "Stopped",
        cpus=len(inventory.sockets),
        max_cpus=spec.max_cpus,
        memory=spec.memory + sum(inventory.dimms.values()) + inventory.elastic,
        max_memory=spec.max_memory,
        accelerator=seen.accelerator if seen else "",
        pid=seen.pid if seen else 0,
        forwards=record.forwards,
    )
