"""A VM and a ResourceQuota in a real Kubernetes 1.36.3: it grows in place where a second pod is refused.

API server, controllers and scheduler are Kubernetes' own. The node is a hollow one and QEMU is simulated: what is
tried is what the real API grants, charges and refuses. The controller of FlexVMs has its own account.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from bench import controlplane
from bench.controlplane import ControlPlane
from tests.cluster import ours
from tests.cluster.vmnode import Kubectl

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.sim.launcher import SimLaunchers
from flexlet.api import decode
from flexlet.api.quantity import Quantity
from flexlet.api.status import Forbidden
from flexlet.apps import vms
from flexlet.apps.controllers import Part, Wiring
from flexlet.core import refs
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import DECLARED_FEATURES, Machine
from flexlet.core.vm.manifest import launcher_pod
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.podsize import need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine, wanted
from flexlet.ports.cluster import PODS

LACKING = controlplane.missing()
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(LACKING), reason=LACKING),
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
]
DONE, REFUSED = 0, 3
TEAM = "team"
LAUNCHER = "virt-launcher-db"
MIB = 1 << 20
DOMAIN = {
    "cpu": {"sockets": 4, "maxSockets": 16},
    "memory": {"minGuest": "4Gi", "guest": "8Gi", "maxGuest": "16Gi"},
    "devices": {"autoattachGraphicsDevice": True},
}
DB = {
    "apiVersion": "vm.flexlet.io/v1alpha1",
    "kind": "FlexVM",
    "metadata": {"name": "db", "namespace": TEAM},
    "spec": {"template": {"spec": {"domain": DOMAIN}}},
}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "limits", "namespace": TEAM},
    "spec": {"hard": {"requests.memory": "32Gi"}},
}
# With the launcher's 8520Mi it makes 20Gi.
WEB = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": TEAM},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "11960Mi"}}}],
    },
}


class Team:
    """The namespace as its owner and its administrator see it."""

    def __init__(self, real: ControlPlane, admin: HttpCluster) -> None:
        self.kubectl = Kubectl(real.kubeconfig)
        self.admin = admin
        self._kubeconfig = real.kubeconfig

    async def flexlet(self, *words: str) -> tuple[int, str]:
        """What a command says, and its exit code."""
        command = [sys.executable, "-m", "flexlet", *words, "-n", TEAM, "--kubeconfig", str(self._kubeconfig)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    async def used(self) -> int:
        """MiB that the quota counts."""
        quota = await self.get("resourcequota", "limits")
        return Quantity.parse(quota["status"]["used"]["requests.memory"]).value // MIB

    async def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object of the namespace."""
        text = await asyncio.to_thread(self.kubectl, "get", kind, name, "-n", TEAM, "-o", "json")
        found: dict[str, Any] = json.loads(text)
        return found

    async def until(self, what: str, wanted: object, look: Any) -> None:
        """Ask until it is so: for longer than the minute after which a quota is tried again unasked."""
        async with asyncio.timeout(150):
            while (found := await look()) != wanted:
                assert found is not None, what
                await asyncio.sleep(0.2)

    async def resize_phase(self) -> str:
        """How far the machine's resize is."""
        found: str = (await self.get("flexvm", "db"))["status"].get("resize", {}).get("phase", "")
        return found


@pytest_asyncio.fixture(loop_scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Team]:
    """A cluster with one hollow node of 8 CPUs and 64Gi, and the namespace with a machine that runs."""
    with controlplane.control_plane() as real:
        await asyncio.to_thread(real.start_controllers)
        await asyncio.to_thread(ours.install, Kubectl(real.kubeconfig))
        place = await asyncio.to_thread(ours.account, real, tmp_path_factory.mktemp("account") / "controllers")
        async with (
            HttpCluster(kubeconfig.load(real.kubeconfig)) as admin,
            HttpCluster(kubeconfig.load(place)) as account,
            ours.running(_parts(admin, account)),
        ):
            made = Team(real, admin)
            await _populate(made)
            yield made


def _parts(admin: HttpCluster, account: HttpCluster) -> list[Part]:
    """A hollow node, and the controller with nothing but its own account."""
    clock = SystemClock()
    node, controllers = Wiring(admin, clock), Wiring(account, clock)
    size = Machine(cpus=8, memory=65536 * MIB)
    node.add(Fleet(("hollow-0",), size, "v1.36.3", list(DECLARED_FEATURES)), (refs.NODES, refs.PODS), pace_s=0.0)
    lines = vms.add_vms(controllers, clock, vms.Options(), SimLaunchers(admin, clock))
    return [*node.parts(), *controllers.parts(), *lines]


async def _populate(team: Team) -> None:
    await asyncio.to_thread(team.kubectl, "create", "namespace", TEAM)
    for body in (QUOTA, WEB, DB):
        await asyncio.to_thread(team.kubectl, "apply", "-f", "-", text=json.dumps(body))
    await team.until("the machine runs", True, lambda: _is_ready(team))
    await team.until("the quota counts both", 20 * 1024, team.used)


async def _is_ready(team: Team) -> bool:
    conditions = (await team.get("flexvm", "db")).get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def _refused(attempt: Awaitable[object]) -> str:
    with pytest.raises(Forbidden) as refused:
        await attempt
    return str(refused.value)


async def test_in_place_passes_where_a_second_pod_is_refused(team: Team) -> None:
    """20Gi of 32Gi are used; 8240Mi more are granted, 16760Mi more for a while are not (vm-resize.md §6)."""
    before = await team.get("pod", LAUNCHER)
    vm = decode.from_value(await team.get("flexvm", "db"), FlexVM)
    size, start = wanted(vm, Settings()), machine(vm, Settings())
    target = launcher_pod(vm, size, start, need(size, 8, 16384 * MIB, Settings()), Settings(), suffix="target")
    assert await _refused(team.admin.create(PODS, TEAM, target)) == (
        f'pods "{LAUNCHER}-target" is forbidden: exceeded quota: limits, requested: requests.memory=16760Mi,'
        " used: requests.memory=20Gi, limited: requests.memory=32Gi"
    )

    code, said = await team.flexlet("resize", "vm", "db", "--vcpus", "8", "--memory", "16Gi")
    assert code == DONE, said
    after = await team.get("pod", LAUNCHER)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["allocatedResources"] == {"cpu": "800m", "memory": "16760Mi"}
    await team.until("the quota counts the larger pod", 20 * 1024 + 8240, team.used)


async def test_a_quota_that_refuses_is_told_and_tried_again_when_it_grows(team: Team) -> None:
    """The machine shrinks, the quota too; what is refused then is done as soon as the quota allows it."""
    code, said = await team.flexlet("resize", "vm", "db", "--vcpus", "4", "--memory", "8Gi")
    assert code == DONE, said
    await team.until("the quota is freed", 20 * 1024, team.used)
    await _limit(team, "24Gi")

    code, said = await team.flexlet("resize", "vm", "db", "--memory", "16Gi")
    assert code == REFUSED, said
    assert "db: refused (QuotaExceeded): quota limits: requests.memory: 8208Mi more needed, 4Gi free" in said
    vm = await team.get("flexvm", "db")
    assert (vm["status"]["printableStatus"], vm["status"]["memory"]["guestCurrent"]) == ("Running", "8Gi")

    await _limit(team, "32Gi")
    await team.until("what was refused is done", "Done", team.resize_phase)
    vm = await team.get("flexvm", "db")
    assert vm["status"]["memory"]["guestCurrent"] == "16Gi"


async def _limit(team: Team, size: str) -> None:
    patch = msgspec.json.encode({"spec": {"hard": {"requests.memory": size}}}).decode()
    await asyncio.to_thread(team.kubectl, "patch", "resourcequota", "limits", "-n", TEAM, "-p", patch)

    async def hard() -> str:
        found: str = (await team.get("resourcequota", "limits"))["status"]["hard"]["requests.memory"]
        return found

    await team.until("the quota is another", size, hard)
