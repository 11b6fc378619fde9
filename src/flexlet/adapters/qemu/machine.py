"""Starting and ending a machine.

Sockets are bound here and inherited by QEMU: they have their mode before anybody can connect, and a connection
made at once waits in the queue until QEMU is there, or breaks when QEMU ends. A machine either belongs to the
process that starts it (the kernel then ends QEMU when that process ends, however it ends) or stands on its own.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Final

import msgspec

from flexlet.adapters import unixsocket
from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.binary import Qemu
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.adapters.qemu.monitor import Monitor
from flexlet.adapters.qemu.starts import CpuStarts
from flexlet.core.lab.arguments import Accelerator, Boot, Channels, arguments
from flexlet.core.lab.spec import Inventory
from flexlet.errors import HypervisorError
from flexlet.ports.hypervisor import Hypervisor

QUIT_S: Final = 10.0
_TAIL: Final = 2000


class Images(msgspec.Struct, frozen=True):
    """What a machine starts from besides its own disk."""

    kernel: Path
    initrd: Path
    code: Path
    vm_images: Path | None = None


async def start(
    qemu: Qemu, machine: MachineDirectory, images: Images, accelerator: Accelerator, *, owned: bool
) -> Popen[bytes] | None:
    """Start a machine that does not run; returns when QEMU answers, which is before the guest has booted.

    An owned one is a child of ours, to be waited for after it has ended.
    """
    record = machine.load()
    for log in ("console.log", "qemu.log"):
        machine.file(log).unlink(missing_ok=True)
    _starts(machine).begin(len(record.inventory.sockets), accelerator)
    with _channels(machine) as channels:
        words = arguments(
            record.spec, record.inventory, record.forwards, _boot(machine, images), channels, accelerator
        )
        descriptors = (*channels.monitors, *channels.ports)
        child = _spawn([str(qemu.system), *words], machine.file("qemu.log"), descriptors, owned)
    try:
        async with hypervisor(machine) as running:
            await running.cpus()
    except BaseException as error:
        await _abort(machine, child)
        if not isinstance(error, HypervisorError):
            raise
        complaint = _tail(machine.file("qemu.log")) or str(error)
        raise HypervisorError(f"machine {machine.name} does not start: {complaint}") from error
    return child


async def _abort(machine: MachineDirectory, child: Popen[bytes] | None) -> None:
    process = processes.find(machine.file("pid"))
    if process is not None:
        with process:
            process.kill()
            await process.ended(QUIT_S)
    if child is not None:
        child.wait()
    clear(machine)


def hypervisor(machine: MachineDirectory, monitor: int = 0) -> QemuHypervisor:
    """The machine's hypervisor; what is plugged from now on is remembered for the next start."""

    def note(inventory: Inventory) -> None:
        machine.save(msgspec.structs.replace(machine.load(), inventory=inventory))

    def slots() -> int:
        return machine.load().spec.max_cpus

    return QemuHypervisor(Monitor(machine.monitors[monitor]), note, _starts(machine).claim, slots)


def _starts(machine: MachineDirectory) -> CpuStarts:
    return CpuStarts(machine.file("cpu-starts"))


async def stop(machine: MachineDirectory, running: Hypervisor, patience_s: float) -> bool:
    """End a machine: by its power button, else by force after that time. False if it had to be forced.

    Nothing of what only a running machine needs is left.
    """
    process = processes.find(machine.file("pid"))
    if process is not None:
        with process:
            with contextlib.suppress(HypervisorError):
                await running.power_down()
            if not await process.ended(patience_s):
                await _end(process, running)
                clear(machine)
                return False
    clear(machine)
    return True


async def cut(machine: MachineDirectory, running: Hypervisor) -> None:
    """End a machine without asking its guest."""
    process = processes.find(machine.file("pid"))
    if process is not None:
        with process:
            await _end(process, running)
    clear(machine)


async def _end(process: processes.Process, running: Hypervisor) -> None:
    """QEMU ends on `quit` with its disks written; one that does not is killed."""
    with contextlib.suppress(HypervisorError, TimeoutError):
        async with asyncio.timeout(QUIT_S):
            await running.quit()
    if not await process.ended(QUIT_S):
        process.kill()
        await process.ended(QUIT_S)


def clear(machine: MachineDirectory) -> None:
    """Remove what belongs to a run that has ended."""
    for path in (*machine.monitors, *machine.ports, machine.file("pid"), machine.file("cpu-starts")):
        path.unlink(missing_ok=True)
        path.with_suffix(".lock").unlink(missing_ok=True)


def _boot(machine: MachineDirectory, images: Images) -> Boot:
    return Boot(
        kernel=str(images.kernel),
        initrd=str(images.initrd),
        overlay=str(machine.file("overlay.qcow2")),
        code=str(images.code),
        config=str(machine.file("config.tar")),
        console=str(machine.file("console.log")),
        pidfile=str(machine.file("pid")),
        vm_images=str(images.vm_images or ""),
    )


@contextlib.contextmanager
def _channels(machine: MachineDirectory) -> Iterator[Channels]:
    with contextlib.ExitStack() as stack:
        monitors = [stack.enter_context(unixsocket.listening(path)).fileno() for path in machine.monitors]
        ports = [stack.enter_context(unixsocket.listening(path)).fileno() for path in machine.ports]
        yield Channels(tuple(monitors), tuple(ports))


def _spawn(words: list[str], log: Path, descriptors: tuple[int, ...], owned: bool) -> Popen[bytes] | None:
    """Run QEMU in a session of its own, so that Ctrl-C on our terminal is not its end.

    The kernel ends an owned one with SIGTERM, upon which QEMU writes its disks. It watches the thread that spawns,
    so this must be the one of the event loop.
    """
    prefix = ["setpriv", "--pdeathsig", "TERM", "--"] if owned else ["setsid", "--fork"]
    with log.open("wb") as output:
        process = Popen(  # noqa: S603 our own command line
            [*prefix, *words],
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=descriptors,
            start_new_session=owned,
            umask=0o077,
        )
    if owned:
        return process
    process.wait()
    return None


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-_TAIL:].decode(errors="replace").strip()
    except OSError:
        return ""
