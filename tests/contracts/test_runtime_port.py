"""The Runtime port's contract on the simulated runtime; the real one is asked in the VM (tests/vm).

The suite is `flexlet.testing.runtime_checks`.
"""

import pytest
from tests.engine.fakes import FakeClock

from flexlet.adapters.sim.hostfiles import MemoryFiles
from flexlet.adapters.sim.runtime import SimNode
from flexlet.testing import runtime_checks
from flexlet.testing.checks import Check
from flexlet.testing.runtime_bench import RuntimeBench


class SimBench:
    """A simulated node."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.node = SimNode(FakeClock(), files=self.files)
        self.runtime = self.node.runtime
        self.tree = self.node.cgroups
        self.image = "busybox:1"
        self.log_directory = "/var/log/pods"

    async def read_file(self, path: str) -> str:
        return self.files.texts[path]

    async def oom_scores(self, cgroup: str) -> set[int]:
        return set((await self.node.oom_scores.read(await self.tree.processes(cgroup))).values())

    async def wait(self, seconds: float) -> None:
        await self.node.kernel.clock.sleep(seconds)


@pytest.mark.parametrize("check", runtime_checks.CHECKS, ids=lambda check: check.__name__)
async def test_the_simulated_runtime_keeps_the_contract(check: Check[RuntimeBench]) -> None:
    await check(SimBench())
