import os
from pathlib import Path

import pytest
from tests import hosts

from flexlet.adapters.sysfs.reader import SysfsHost
from flexlet.core.machine import discovery, sources
from flexlet.core.machine.snapshot import Snapshot


@pytest.mark.parametrize("name", ["small", "half-plugged", "two-sockets", "split-cache", "plain-arm", "no-numa"])
async def test_a_sweep_finds_the_machine(name: str, tmp_path: Path) -> None:
    """What is read from a tree of files is the machine that the files describe."""
    written = hosts.snapshot(name)
    host = SysfsHost(str(hosts.tree(name, tmp_path)), written.architecture)
    found = await host.read(sources.EVERYTHING)
    assert discovery.machine(found) == discovery.machine(written)


async def test_paths_are_the_hosts(tmp_path: Path) -> None:
    """Missing files are missing, directories are empty texts, wildcards find what is there."""
    (tmp_path / "sys/node0/cpu0").mkdir(parents=True)
    (tmp_path / "sys/node0/meminfo").write_bytes(b"1\xff")
    (tmp_path / "proc").write_text("a file")
    found = await SysfsHost(str(tmp_path), "x86_64").read(
        ["/sys/node[0-9]*/*", "/sys/node0/meminfo/deeper", "/proc/meminfo", "/sys/missing"], ["/missing"]
    )
    assert found == Snapshot(
        texts={"/sys/node0/cpu0": "", "/sys/node0/meminfo": "1�"},
        architecture="x86_64",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the kernel refuse a read here")
async def test_what_cannot_be_read_is_named() -> None:
    """A file that answers with an error is no missing file."""
    path = "/proc/self/mem"
    assert (await SysfsHost().read([path])).unreadable == {path: "Input/output error"}


async def test_filesystems_are_measured(tmp_path: Path) -> None:
    sizes = os.statvfs(tmp_path)
    found = (await SysfsHost("/").read([], [str(tmp_path)])).filesystems[str(tmp_path)]
    assert (found.capacity, found.inodes) == (sizes.f_blocks * sizes.f_frsize, sizes.f_files)
    assert 0 <= found.available <= found.capacity
