"""The directory in which a machine lives, and the directory of all machines.

======================  ====================================================================
``spec.json``           the `Record`: size, forwards, what is plugged; complete or not there
``overlay.qcow2``       the machine's own disk, on top of the image's
``config.tar``          what the guest unpacks into ``/etc/flexlet``
``console.log``         the serial console of this start; ``qemu.log`` what QEMU itself says
``*.sock``, ``pid``     while it runs: two monitors, the exec ports; ``cpu-starts`` when it is emulated
======================  ====================================================================

A machine is made in a hidden directory and appears by a rename; it disappears the same way. So what a killed
process leaves is hidden, and `sweep` removes it: whoever works on a hidden directory holds its lock. All is for
one user.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import msgspec

from flexlet.core.lab.spec import Record
from flexlet.errors import ConfigError, HostBusy

LOCK_PATIENCE_S: Final = 60.0
_LOCK_PAUSE_S: Final = 0.1
EXEC_PORTS: Final = 4


class MachineDirectory(msgspec.Struct, frozen=True):
    """Where a machine's files are."""

    path: Path

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.path.name

    def file(self, name: str) -> Path:
        """One of its files."""
        return self.path / name

    @property
    def monitors(self) -> tuple[Path, ...]:
        """The monitors' sockets: one for whoever runs the machine, one for commands of a moment."""
        return self.path / "qmp.sock", self.path / "cli.sock"

    @property
    def ports(self) -> tuple[Path, ...]:
        """The sockets of the guest's exec ports."""
        return self.path / "exec.sock", *(self.path / f"exec-{number}.sock" for number in range(1, EXEC_PORTS))

    def load(self) -> Record:
        """The machine's record, or ConfigError."""
        try:
            return msgspec.json.decode(self.file("spec.json").read_bytes(), type=Record)
        except OSError as error:
            raise ConfigError(f"there is no machine {self.name} in {self.path.parent}") from error
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"cannot read {self.file('spec.json')}: {error}; remove it with `flexlet lab delete {self.name}`"
            ) from error

    def save(self, record: Record) -> None:
        """Write the record, all of it or nothing."""
        draft = self.file("spec.json.new")
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
        draft.replace(self.file("spec.json"))

    @contextlib.asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Work on the machine alone; HostBusy if somebody else does and does not end."""
        try:
            descriptor = os.open(self.path, os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(f"there is no machine {self.name} in {self.path.parent}") from error
        try:
            await _lock(descriptor, self.name)
            if not self.path.exists():
                raise ConfigError(f"machine {self.name} was deleted meanwhile")
            yield
        finally:
            os.close(descriptor)


def place(data: Path, name: str) -> MachineDirectory:
    """Where a machine of that name lives in a data directory; one path only, for by it QEMU is found."""
    return MachineDirectory(data.resolve() / "machines" / name)


def machines(root: Path) -> list[MachineDirectory]:
    """All machines of a directory, by name."""
    found = root.glob("*/spec.json")
    return [MachineDirectory(path.parent) for path in sorted(found) if not path.parent.name.startswith(".")]


@contextlib.contextmanager
def making(root: Path, name: str) -> Iterator[MachineDirectory]:
    """A new machine's directory, hidden until the block is done; ConfigError if there is such a machine."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    sweep(root)
    if (root / name).exists():
        raise ConfigError(f"there is a machine {name} already: `flexlet lab delete {name}` removes it")
    hidden = root / f".making-{name}-{os.getpid()}"
    hidden.mkdir(mode=0o700)
    descriptor = os.open(hidden, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield MachineDirectory(hidden)
        _appear(hidden, root / name)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)


def remove(machine: MachineDirectory) -> None:
    """Delete all that a machine has on disk; it must not run."""
    hidden = machine.path.with_name(f".gone-{machine.name}-{os.getpid()}")
    machine.path.rename(hidden)
    shutil.rmtree(hidden)


def sweep(root: Path) -> None:
    """Remove what killed processes have left half made or half deleted."""
    for hidden in (*root.glob(".making-*"), *root.glob(".gone-*")):
        with contextlib.suppress(OSError):
            descriptor = os.open(hidden, os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(hidden, ignore_errors=True)
            finally:
                os.close(descriptor)


def _appear(hidden: Path, path: Path) -> None:
    try:
        hidden.rename(path)
    except OSError as error:
        raise ConfigError(f"there is a machine {path.name} already: somebody else has just made it") from error


async def _lock(descriptor: int, name: str) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOCK_PATIENCE_S):
            while True:
                try:
                    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    await asyncio.sleep(_LOCK_PAUSE_S)
    raise HostBusy(f"another flexlet is working on machine {name}; try again when it is done")
