"""Reading and writing cgroup files.

Reads are a few microseconds and happen at once. Writes that may wait for the kernel (anything of the memory
controller, which reclaims before it answers; making and removing cgroups) take a thread of this adapter.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from flexlet.adapters.cgroupfs import removal
from flexlet.adapters.cgroupfs.check import MOUNT_POINT, NEEDED
from flexlet.adapters.cgroupfs.faults import GONE, refused
from flexlet.errors import HostError, HostUnsupported, InvariantBroken

THREADS: Final = 16
"""One per write that the kernel may sit on; they are made as they are needed."""

Result = TypeVar("Result")


class CgroupfsTree:
    """`flexlet.ports.cgroups.CgroupTree` on a mounted cgroup v2 file system."""

    def __init__(self, root: Path = MOUNT_POINT) -> None:
        self._root = str(root)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="cgroupfs")

    async def read(self, path: str, files: Sequence[str]) -> dict[str, str]:
        """The texts of these files; files that are not there are left out."""
        directory = self._directory(path)
        found = {}
        for name in files:
            if (text := _read(f"{directory}/{name}")) is not None:
                found[name] = text
        return found

    async def write(self, path: str, values: Mapping[str, str]) -> None:
        """Write the files in the order given; a controller that the kernel lacks is skipped."""
        directory = self._below(path)
        if any(name.startswith("memory.") for name in values):
            await self._in_thread(lambda: _write_all(directory, values))
        else:
            _write_all(directory, values)

    async def create(self, path: str) -> None:
        """Make the cgroup and those above it, with every controller of the root handed down."""
        directory = self._below(path)
        if not _is_equipped(self._root, directory):
            await self._in_thread(lambda: self._create(path))

    async def remove(self, path: str) -> None:
        """Kill what is left in it and below, and remove it."""
        directory = self._below(path)
        await self._in_thread(lambda: removal.remove(directory))

    async def exists(self, path: str) -> bool:
        """Whether the cgroup is there."""
        return _is_directory(self._directory(path))

    async def children(self, path: str) -> tuple[str, ...]:
        """Names of the cgroups directly below, sorted; empty if there is none."""
        return tuple(removal.children(self._directory(path)))

    async def processes(self, path: str) -> tuple[int, ...]:
        """Process ids in this cgroup and all below it."""
        directory = self._directory(path)
        return await self._in_thread(lambda: tuple(removal.processes(directory)))

    def close(self) -> None:
        """Let the threads go; writes under way are finished by the kernel."""
        self._threads.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _directory(self, path: str) -> str:
        """The root itself may be looked at."""
        return self._below(path) if path else self._root

    def _below(self, path: str) -> str:
        """Below the root, and never above: this adapter removes trees and kills."""
        if any(part in {"", ".", ".."} for part in path.split("/")):
            raise InvariantBroken(f'"{path}" is no path of a cgroup below {self._root}')
        return f"{self._root}/{path}"

    def _create(self, path: str) -> None:
        wanted = (_read(f"{self._root}/cgroup.controllers") or "").split()
        directory = self._root
        for part in path.split("/"):
            _hand_down(directory, wanted)
            directory = f"{directory}/{part}"
            try:
                os.makedirs(directory, exist_ok=True)  # noqa: PTH103
            except OSError as error:
                raise refused(error, f"make cgroup {directory}") from error


def _is_directory(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - pathlib costs more than the call


def _is_equipped(root: str, directory: str) -> bool:
    """Whether it is there, and every controller of the root has come down to it."""
    wanted, present = _read(f"{root}/cgroup.controllers"), _read(f"{directory}/cgroup.controllers")
    return present is not None and set((wanted or "").split()) <= set(present.split())


def _hand_down(directory: str, wanted: Sequence[str]) -> None:
    """Enable controllers for the children; the others must not suffer for one that is not vital."""
    enabled = (_read(f"{directory}/cgroup.subtree_control") or "").split()
    for name in wanted:
        if name not in enabled:
            try:
                _put(f"{directory}/cgroup.subtree_control", f"+{name}")
            except OSError as error:
                if name in NEEDED:
                    raise refused(error, f'write "+{name}" to {directory}/cgroup.subtree_control') from error


def _write_all(directory: str, values: Mapping[str, str]) -> None:
    for name, text in values.items():
        try:
            _put(f"{directory}/{name}", text)
        except FileNotFoundError as error:
            _excuse(directory, name, text, error)
        except OSError as error:
            raise refused(error, f'write "{text}" to {directory}/{name}') from error


def _excuse(directory: str, name: str, text: str, error: OSError) -> None:
    """A missing file: fine without its controller, and for reserved huge pages, which older kernels lack."""
    controllers = _read(f"{directory}/cgroup.controllers")
    if controllers is None:
        raise HostError(f'cannot write "{text}" to {directory}/{name}: the cgroup is gone') from error
    if name.partition(".")[0] in controllers.split() and ".rsvd." not in name:
        raise HostUnsupported(f'cannot write "{text}" to {directory}/{name}: this kernel has no {name}') from error


def _put(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs more than the read
            return file.read().removesuffix("\n")
    except OSError as error:
        if error.errno in GONE:
            return None
        raise refused(error, f"read {path}") from error
