"""A node's size as a wish, in a real Kubernetes 1.36.3, with a stock kubelet and with flexlet's agent as the node.

Both are the node of one machine in turn. The controllers are a process of their own with their own account, behind
the guard that ``flexlet print-manifests`` prints; people are kubectl and ``flexlet resize``.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from bench import controlplane, vmturns
from bench.controlplane import ControlPlane
from tests.cluster import ours
from tests.cluster.vmnode import NODE, Kubectl

from flexlet.adapters import image
from flexlet.adapters.image.oci import PAUSE
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.apps.lab import Machine

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800), pytest.mark.asyncio(loop_scope="module")]
BALLOON = f"flexlet-balloon-{NODE}"
LOOP = ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"]
OPERATOR = ("--as=someone", "--as-group=flexlet:balloon-operators", "--as-group=system:masters")
DONE, REFUSED = 0, 3


class Sizing:
    """A control plane, its node, and controllers."""

    def __init__(self, real: ControlPlane, machine: Machine, data: Path) -> None:
        self.kubectl = Kubectl(real.kubeconfig)
        self.machine = machine
        self._real = real
        self._data = data
        self._kubeconfig = real.kubeconfig

    @contextlib.contextmanager
    def controllers(self, *flags: str) -> Iterator[None]:
        """``flexlet controllers`` with an account of its own."""
        place, log = ours.account(self._real, self._data / "controllers"), self._data / "controllers.log"
        command = [sys.executable, "-m", "flexlet", "controllers", "--leader-elect", "--kubeconfig", str(place)]
        command += ["--no-vms", "--balloon-image", PAUSE, *flags]
        with log.open("wb") as said, subprocess.Popen(command, stderr=said, stdout=said) as process:
            try:
                yield
            finally:
                process.terminate()
                process.wait(60)
                print(log.read_text())  # noqa: T201 for whoever looks at a failure
        assert "Traceback" not in log.read_text()

    async def be(self, who: str) -> None:
        """Let a program be the node."""
        async with HttpCluster(kubeconfig.load(self._kubeconfig)) as cluster:
            await vmturns.take_turn(self.machine.guest, who, cluster)

    async def resize(self, **amounts: str) -> tuple[int, str]:
        """What ``flexlet resize node`` says, and its exit code."""
        wish = [word for name, amount in amounts.items() for word in (f"--{name}", amount)]
        command = [sys.executable, "-m", "flexlet", "resize", "node", NODE, *wish, "--timeout", "300"]
        command += ["--kubeconfig", str(self._kubeconfig)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    async def balloon(self) -> dict[str, Any]:
        """The balloon as it is in the API."""
        found = await asyncio.to_thread(self.kubectl, "get", "pod", BALLOON, "-n", "kube-system", "-o", "json")
        pod: dict[str, Any] = json.loads(found)
        return pod

    async def until(self, what: str, name: str, **wanted: Any) -> dict[str, Any]:
        """Wait until the status of a pod has these fields."""

        def holds() -> dict[str, Any] | None:
            pod = self.kubectl.get("pod", name)
            return pod if {key: pod["status"].get(key) for key in wanted} == wanted else None

        found: dict[str, Any] = await self.kubectl.until(what, holds)
        return found


def held(balloon: dict[str, Any]) -> dict[str, str]:
    """What a balloon was allocated."""
    amounts: dict[str, str] = balloon["status"]["containerStatuses"][0]["allocatedResources"]
    return amounts


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sizing(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sizing]:
    if lacking := controlplane.missing() or _no_kubelet():
        pytest.skip(lacking)
    if packages := image.missing_tools():
        pytest.skip(f"needs the packages {' '.join(packages)}")
    data = tmp_path_factory.mktemp("sizing")
    with controlplane.control_plane() as real:
        real.start_controllers()
        made = Kubectl(real.kubeconfig)
        ours.install(made)
        async with vmturns.booted(real, data) as machine:
            yield Sizing(real, machine, data)


def _no_kubelet() -> str:
    return "" if vmturns.PROGRAM.exists() else "needs the kubelet: tools/kubernetes/build kubelet"


@pytest.mark.parametrize("who", [vmturns.KUBELET, vmturns.FLEXLET])
async def test_a_size_is_granted_refused_and_kept(sizing: Sizing, who: str) -> None:
    """Smaller, larger for a pod that waits, never at anybody's cost, and the balloon comes back with its size."""
    await sizing.be(who)
    with sizing.controllers():
        await _life_with_a_balloon(sizing)


async def _life_with_a_balloon(sizing: Sizing) -> None:
    code, said = await sizing.resize(cpu="500m")
    assert code == DONE, said
    assert held(await sizing.balloon())["cpu"] == "1500m"

    container = {"name": "c", "image": "busybox:1", "command": LOOP, "resources": {"requests": {"cpu": "1"}}}
    spec = {"terminationGracePeriodSeconds": 2, "automountServiceAccountToken": False, "containers": [container]}
    waits = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"}, "spec": spec}
    await asyncio.to_thread(sizing.kubectl, "apply", "-f", "-", text=json.dumps(waits))
    pending = await sizing.until("the pod waits for room", "waits", phase="Pending")
    assert "nodeName" not in pending["spec"]

    code, said = await sizing.resize(cpu="1500m")
    assert code == DONE, said
    runs = await sizing.until("the pod has room", "waits", phase="Running")

    code, said = await sizing.resize(cpu="500m")
    assert code == REFUSED, said
    assert held(await sizing.balloon())["cpu"] == "500m"
    still = await asyncio.to_thread(sizing.kubectl.get, "pod", "waits")
    assert _lives(still) == _lives(runs)

    before = await sizing.balloon()
    code, said = await sizing.resize(cpu="1500m")
    assert code == DONE, said
    with pytest.raises(AssertionError, match="may not delete balloons"):
        await asyncio.to_thread(sizing.kubectl, "delete", "pod", BALLOON, "-n", "kube-system")
    await asyncio.to_thread(sizing.kubectl, "delete", "pod", BALLOON, "-n", "kube-system", *OPERATOR)
    await sizing.kubectl.until("the balloon is back", lambda: _is_new(sizing.kubectl, before))
    assert _lives(await asyncio.to_thread(sizing.kubectl.get, "pod", "waits")) == _lives(runs)

    await asyncio.to_thread(sizing.kubectl, "delete", "pod", "waits", "--wait")
    await asyncio.to_thread(sizing.kubectl, "delete", "nodesize", NODE, "--wait")
    await sizing.kubectl.until("the balloon is gone", lambda: not _balloons(sizing.kubectl))


async def test_a_daemon_set_may_make_the_balloons(sizing: Sizing) -> None:
    """As the KEP has it: Kubernetes' own controller makes the pod, at the floor, and flexlet gives it its size."""
    await sizing.be(vmturns.KUBELET)
    with sizing.controllers("--management", "DaemonSet"):
        code, said = await sizing.resize(cpu="500m")
        assert code == DONE, said
        (balloon,) = await asyncio.to_thread(_balloons, sizing.kubectl)
        assert [owner["kind"] for owner in balloon["metadata"]["ownerReferences"]] == ["DaemonSet"]
        assert held(balloon)["cpu"] == "1500m"
        before = _lives(balloon)
        code, said = await sizing.resize(cpu="1500m")
        assert code == DONE, said
        (balloon,) = await asyncio.to_thread(_balloons, sizing.kubectl)
        assert (held(balloon)["cpu"], _lives(balloon)) == ("500m", before)
        await asyncio.to_thread(sizing.kubectl, "delete", "nodesize", NODE, "--wait")
        await sizing.kubectl.until("the balloon is gone", lambda: not _balloons(sizing.kubectl))


def _balloons(kubectl: Kubectl) -> list[dict[str, Any]]:
    found = kubectl("get", "pod", "-n", "kube-system", "-l", "flexlet.io/balloon", "-o", "json")
    pods: list[dict[str, Any]] = json.loads(found)["items"]
    return pods


def _is_new(kubectl: Kubectl, before: dict[str, Any]) -> bool:
    pod = json.loads(kubectl("get", "pod", BALLOON, "-n", "kube-system", "-o", "json"))
    return pod["metadata"]["uid"] != before["metadata"]["uid"] and held(pod)["cpu"] == "500m"


def _lives(pod: dict[str, Any]) -> list[tuple[str, int]]:
    """The runs of a pod's containers: whoever was ended has another."""
    return [(each["containerID"], each["restartCount"]) for each in pod["status"]["containerStatuses"]]
