"""The managers' state files: written when they must be, never before what they replace is safe."""

import asyncio

import pytest
from msgspec.structs import replace

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE, Files, texts
from flexlet.core.managers.state import CpuState, Managers
from flexlet.engine.agent.books import ManagerFiles
from flexlet.errors import HostError
from flexlet.testing.memory import MemoryCheckpoints

EMPTY = Managers(cpu=CpuState(policy="static", shared=CpuSet.parse("0-3")))
FULL = replace(EMPTY, cpu=replace(EMPTY.cpu, shared=CpuSet.parse("0"), entries={"u": {"c": CpuSet.parse("1-3")}}))


class Disk(MemoryCheckpoints):
    """Remembers the order of writes, and may be full."""

    def __init__(self, **files: str) -> None:
        super().__init__()
        self.files = {name: text.encode() for name, text in files.items()}
        self.written: list[str] = []
        self.is_full = False

    async def save(self, name: str, data: bytes) -> None:
        await asyncio.sleep(0)
        if self.is_full:
            raise HostError("cannot write: No space left on device")
        self.written.append(name)
        await super().save(name, data)


def kept(disk: Disk, managers: Managers | None) -> ManagerFiles:
    files = ManagerFiles(disk)
    files.current = lambda: managers
    return files


def on(disk: Disk) -> dict[str, str]:
    return {name: data.decode() for name, data in disk.files.items()}


async def test_only_what_changed_is_written() -> None:
    disk = Disk()
    files = kept(disk, EMPTY)
    await files.keep()
    await files.keep()
    files.current = lambda: FULL
    await files.keep()
    assert (disk.written, on(disk)) == ([CPU_FILE, MEMORY_FILE, CPU_FILE], texts(FULL).by_name())


async def test_without_books_the_files_are_left_alone() -> None:
    disk = Disk(**{CPU_FILE: "{}"})
    files = kept(disk, None)
    assert await files.open() == Files(cpu="{}")
    await files.keep()
    assert disk.written == []


async def test_what_is_not_believed_is_kept_beside_before_it_is_written_over() -> None:
    disk = Disk(**{CPU_FILE: "spoiled"})
    files = kept(disk, EMPTY)
    await files.open()
    files.distrust((CPU_FILE, MEMORY_FILE))
    await files.keep()
    assert disk.written == [f"{CPU_FILE}.bad", CPU_FILE, MEMORY_FILE]
    assert on(disk) == {f"{CPU_FILE}.bad": "spoiled", **texts(EMPTY).by_name()}


async def test_a_full_disk_is_told_and_tried_again() -> None:
    disk = Disk()
    disk.is_full = True
    files = kept(disk, FULL)
    with pytest.raises(HostError):
        await files.keep()
    disk.is_full = False
    await files.keep()
    assert on(disk) == texts(FULL).by_name()


async def test_whoever_waits_finds_the_newest_books_written() -> None:
    disk, books = Disk(), [EMPTY]
    files = kept(disk, None)
    files.current = lambda: books[-1]
    first = asyncio.ensure_future(files.keep())
    await asyncio.sleep(0)
    books.append(FULL)
    await asyncio.gather(first, files.keep(), files.keep())
    assert (disk.written, on(disk)) == ([CPU_FILE, MEMORY_FILE, CPU_FILE], texts(FULL).by_name())
