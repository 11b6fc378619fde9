"""An agent whose runtime says that systemd owns the cgroups."""

from functools import partial
from pathlib import Path

import pytest
from tests.adapters.units.fake_systemd import FakeSystemd
from tests.apps.test_agent import CLOCK, FILES, World, world
from tests.engine.fakes import FakeClock

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.sim.runtime import SimNode
from flexlet.adapters.units.manager import SystemdManager
from flexlet.apps.agent import agent

SLICES = (
    "kubepods.slice",
    "kubepods.slice/kubepods-burstable.slice",
    "kubepods.slice/kubepods-besteffort.slice",
)


def slices(there: World) -> None:
    """What systemd would make."""
    for path in (there.directory / "cgroup" / each for each in SLICES):
        path.mkdir(parents=True)
        (path / "cgroup.controllers").write_text("cpu memory pids\n")
        for name in FILES:
            (path / name).touch()


async def test_the_word_of_the_runtime_counts_more_than_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration says cgroupfs, as it does where nobody said anything; containerd 2 knows better."""
    socket, systemd = tmp_path / "private", FakeSystemd(SimNode(FakeClock()).kernel)
    monkeypatch.setattr("flexlet.apps.agent.running.SystemdManager", partial(SystemdManager, socket))
    async with world() as there, systemd.serve(socket):
        driver = pb.LinuxRuntimeConfiguration(cgroup_driver=pb.SYSTEMD)
        there.runtime.replies["RuntimeConfig"] = pb.RuntimeConfigResponse(linux=driver)
        options = there.options(cgroupDriver="cgroupfs")
        slices(there)
        async with agent(options, CLOCK) as tasks:
            await there.node()
            assert list(systemd.units) == [each.rpartition("/")[2] for each in SLICES]
            limit = (there.directory / "cgroup/kubepods.slice/memory.max").read_text()
            assert systemd.units["kubepods.slice"]["MemoryMax"] == int(limit)
            assert not (there.directory / "cgroup/kubepods/memory.max").read_text()
            for task in tasks:
                task.cancel()
