"""Measuring: /proc, file systems, logs and volumes."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.adapters.nodeserver.stage import FakeCgroups, FakeRuntime, pod_source
from tests.core.stats.node import MEMINFO, NET
from tests.engine.fakes import FakeClock

from flexlet.adapters.nodeserver import disks
from flexlet.adapters.nodeserver.usage import BRIEF, Usage
from flexlet.core.runtime.shown import FilesystemUse
from flexlet.core.stats.procfiles import interfaces
from flexlet.core.stats.readings import NodeReading
from flexlet.core.stats.sources import ContainerSource, NodeSource, VolumeSource

ROOT = {"cpu.stat": "usage_usec 5\n", "memory.stat": "anon 10\nfile 20\ninactive_file 5\n"}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    files = {
        "meminfo": MEMINFO,
        "loadavg": "0.1 0.1 0.1 1/77 1234\n",
        "stat": "cpu 1\nbtime 1779000000\n",
        "self/cgroup": "0::/system.slice/flexlet.service\n",
        "1/net/dev": NET,
        "42/net/dev": NET.replace("2000", "4242"),
        "sys/kernel/pid_max": "4194304\n",
        "sys/kernel/threads-max": "9999\n",
    }
    root = tmp_path / "proc"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


class Bench:
    """What a measurement needs around it."""

    def __init__(self, proc: Path) -> None:
        self.cgroups, self.runtime, self.clock = FakeCgroups(), FakeRuntime(), FakeClock(1_780_000_000.0)
        self.cgroups.files[""] = ROOT
        self.usage = Usage(self.cgroups, self.runtime, self.clock, proc)  # type: ignore[arg-type]

    async def measure(self, source: NodeSource, depth: str = "full") -> NodeReading:
        return await self.usage.measure(source, depth)


async def test_the_node(proc: Path, tmp_path: Path) -> None:
    bench = Bench(proc)
    bench.runtime.filesystems = (FilesystemUse(mountpoint=str(tmp_path), used_bytes=7, inodes_used=3),)
    bench.cgroups.files["system.slice/flexlet.service"] = ROOT
    node = await bench.measure(NodeSource(name="n1", data_directory=str(tmp_path)))
    assert (node.started_at, node.tasks, node.max_tasks) == (1_779_000_000, 77, 9999)
    assert node.network == interfaces(NET)
    assert node.usage is not None
    assert (node.usage.memory_usage, node.usage.working_set, node.usage.memory_limit) == (30, 25, 2_048_000_000)
    assert [(system.name, system.cgroup, system.usage is not None) for system in node.systems] == [
        ("kubelet", "system.slice/flexlet.service", True),
        ("pods", "kubepods", False),
    ]
    size = os.statvfs(tmp_path)
    assert node.fs is not None
    assert node.fs.capacity == size.f_blocks * size.f_frsize
    assert node.image_fs is not None
    assert (node.image_fs.capacity, node.image_fs.used, node.image_fs.inodes_used) == (node.fs.capacity, 7, 3)


async def test_a_pods_network_is_what_its_processes_see(proc: Path) -> None:
    """One of them may have ended meanwhile; a pod on the host's network has none of its own."""
    bench = Bench(proc)
    bench.cgroups.pids = {"kubepods/podu1": (41, 42)}
    source = NodeSource(name="n1", pods=(pod_source(), pod_source(host_network=True)))
    own, hosts = (await bench.measure(source)).pods
    assert own.network is not None
    assert (own.network[0].rx_bytes, hosts.network) == (4242, None)
    assert (own.processes, hosts.processes) == (2, 2)


async def test_a_brief_look_leaves_disks_alone(proc: Path) -> None:
    node = await Bench(proc).measure(NodeSource(name="n1", pods=(pod_source(),), data_directory="/"), BRIEF)
    assert (node.fs, node.pods[0].ephemeral_storage, node.pods[0].processes) == (None, None, None)


async def test_logs_and_volumes_are_added_up_once_a_minute(proc: Path, tmp_path: Path) -> None:
    bench = Bench(proc)
    bench.runtime.filesystems = (FilesystemUse(mountpoint=str(tmp_path)),)
    logs, data = tmp_path / "logs", tmp_path / "data"
    for directory in (logs, data):
        directory.mkdir()
    (logs / "0.log").write_bytes(b"x" * 5000)
    container = ContainerSource(
        name="app", id="c1", cgroup="k/c1", log_directory=str(logs), rootfs_bytes=100, rootfs_inodes=2
    )
    volumes = (
        VolumeSource(name="data", path=str(data)),
        VolumeSource(name="elsewhere", path=str(data), is_ephemeral=False),
    )
    pod = pod_source(containers=(container,), volumes=volumes)
    source = NodeSource(name="n1", pods=(pod,), data_directory=str(tmp_path))

    async def used() -> tuple[int | None, int | None, int | None]:
        found = (await bench.measure(source)).pods[0]
        log = found.containers[0].logs
        assert log is not None
        assert found.ephemeral_storage is not None
        return log.used, found.volumes[0].fs.used, found.ephemeral_storage.used

    before = await used()
    in_logs, in_data = [(await asyncio.to_thread(disks.count, each))[0] for each in (logs, data)]
    assert before == (in_logs, in_data, 100 + in_logs + in_data)
    assert (before[0] or 0) >= 5000
    (data / "file").write_bytes(b"y" * 100_000)
    assert await used() == before
    bench.clock.time += 61
    after = await used()
    assert (after[1] or 0) - (before[1] or 0) >= 100_000


async def test_ephemeral_storage_is_unknown_while_a_part_of_it_is(proc: Path, tmp_path: Path) -> None:
    bench = Bench(proc)
    bench.runtime.filesystems = (FilesystemUse(mountpoint=str(tmp_path)),)
    source = NodeSource(name="n1", pods=(pod_source(),), data_directory=str(tmp_path))
    storage = (await bench.measure(source)).pods[0].ephemeral_storage
    assert storage is not None
    assert (storage.used, storage.inodes_used) == (None, None)
    assert storage.capacity is not None


def test_links_count_once_and_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    before = disks.count(tmp_path)
    (tmp_path / "hard").hardlink_to(tmp_path / "a")
    (tmp_path / "up").symlink_to(tmp_path)
    after = disks.count(tmp_path)
    assert (after[1], after[0] - before[0] < 10_000) == (before[1] + 1, True)
    assert disks.count(tmp_path / "none") == (0, 0)
