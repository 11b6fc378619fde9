"""The CgroupTree port's contract, on the simulated kernel and on a real one.

The suite is `flexlet.testing.cgroup_checks`. Here a real kernel is used where this host has cgroup v2 and we may
write to it, as far as its controllers go; a node's kernel is asked in the VM (tests/vm).
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from tests.adapters.units.fake_systemd import FakeSystemd
from tests.engine.fakes import FakeClock

from flexlet.adapters.sim.processes import Body, Charge, Process, Sleep
from flexlet.adapters.sim.runtime import SimNode
from flexlet.adapters.units.manager import SystemdManager
from flexlet.adapters.units.tree import SystemdTree
from flexlet.core.cgroups.units import slice_path
from flexlet.testing import cgroup_checks
from flexlet.testing.cgroup_checks import CgroupBench
from flexlet.testing.checks import Check, Skipped
from flexlet.testing.contract_cgroups import RealBench

if TYPE_CHECKING:
    from flexlet.ports.cgroups import CgroupTree

CHECKS = pytest.mark.parametrize("check", cgroup_checks.CHECKS, ids=lambda check: check.__name__)
UNIT_CHECKS = pytest.mark.parametrize("check", cgroup_checks.UNIT_CHECKS, ids=lambda check: check.__name__)


class SimBench:
    """A tree of the simulated kernel."""

    def __init__(self) -> None:
        self.node = SimNode(FakeClock())
        self.tree: CgroupTree = self.node.cgroups
        self.path = "contract"

    def at(self, *names: str) -> str:
        return "/".join((self.path, *names))

    async def start_process(self, path: str, memory: int = 0) -> int:
        def body(_: Process) -> Body:
            yield Charge(memory)
            yield Sleep()
            return 0

        return self.node.kernel.spawn(body, path).pid

    async def wait(self, seconds: float) -> None:
        await self.node.kernel.clock.sleep(seconds)


@CHECKS
async def test_the_simulated_kernel_keeps_the_contract(check: Check[CgroupBench]) -> None:
    await check(SimBench())


class UnitBench(SimBench):
    """Slices of a systemd, on the simulated kernel."""

    def __init__(self, socket: Path) -> None:
        super().__init__()
        self.systemd = FakeSystemd(self.node.kernel)
        self.manager = SystemdManager(private=socket)
        self.tree = SystemdTree(self.node.cgroups, self.manager)
        self.path = "contract.slice"

    def at(self, *names: str) -> str:
        return slice_path("-".join(("contract", *names)) + ".slice")


@UNIT_CHECKS
async def test_slices_of_a_simulated_systemd_keep_the_contract(tmp_path: Path, check: Check[CgroupBench]) -> None:
    bench = UnitBench(tmp_path / "private")
    async with bench.systemd.serve(tmp_path / "private"):
        await check(bench)
        bench.manager.close()


@pytest_asyncio.fixture
async def real() -> AsyncIterator[RealBench]:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]  # noqa: ASYNC240
    roots = [Path(mount) for _, mount, kind, *_ in mounts if kind == "cgroup2"]
    if not roots or not os.access(roots[0], os.W_OK) or os.geteuid() != 0:
        pytest.skip("needs a cgroup v2 mount that may be written to")
    bench = RealBench(roots[0])
    yield bench
    await bench.close()


@CHECKS
async def test_the_real_kernel_keeps_the_contract(real: RealBench, check: Check[CgroupBench]) -> None:
    try:
        await check(real)
    except Skipped as why:
        pytest.skip(str(why))
