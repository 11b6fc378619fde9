"""The contracts of the node's ports on a real kernel and a real runtime; the checks run inside the guest."""

import pytest
from tests.vm.machine import Vm

from flexlet.testing import cgroup_checks, runtime_checks

pytestmark = [pytest.mark.vm, pytest.mark.timeout(2400)]


@pytest.mark.parametrize(
    ("module", "count"),
    [
        ("flexlet.testing.contract_cgroups", len(cgroup_checks.CHECKS)),
        ("flexlet.testing.contract_runtime", len(runtime_checks.CHECKS)),
    ],
)
async def test_the_real_adapters_keep_the_contract(vm: Vm, module: str, count: int) -> None:
    """One line for each check, and none of them fails or is skipped."""
    async with vm.guest() as guest:
        done = await guest.run(["python3", "-s", "-m", module], patience_s=2300)
    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if not line.startswith("ok ")] == [f"{count} passed, 0 failed"], done.stderr
