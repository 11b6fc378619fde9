"""The agent in a real machine, as a node of a real Kubernetes 1.36.3: what users do all day.

One machine and one control plane for the whole module; each test leaves the node as it found it.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from bench import controlplane
from bench.controlplane import ControlPlane
from tests.cluster.vmnode import NODE, Kubectl, joined

from flexlet.adapters import image
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.apps.lab import Machine
from flexlet.engine.lab import sizing
from flexlet.engine.lab.sizing import Change, Deed, Wish

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800), pytest.mark.asyncio(loop_scope="module")]
LOOP = ["sh", "-c", "trap 'exit 0' TERM; echo hello; sleep 1000000 & wait"]


class Cluster:
    """A control plane and its node."""

    def __init__(self, real: ControlPlane, machine: Machine) -> None:
        self.kubectl = Kubectl(real.kubeconfig)
        self.kubeconfig = real.kubeconfig
        self.machine = machine

    async def create(self, **spec: Any) -> None:
        """Apply objects."""
        await asyncio.to_thread(self.kubectl, "apply", "-f", "-", text=json.dumps(spec))

    async def pod(self, name: str, **spec: Any) -> None:
        """Create a pod of one polite container, unless told otherwise."""
        usual = {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 2,
            "containers": [container("c")],
        }
        await self.create(apiVersion="v1", kind="Pod", metadata={"name": name}, spec=usual | spec)

    async def status(self, name: str) -> dict[str, Any]:
        """A pod's status."""
        found: dict[str, Any] = (await asyncio.to_thread(self.kubectl.get, "pod", name))["status"]
        return found

    async def running(self, name: str) -> dict[str, Any]:
        """Wait until a pod is ready."""

        def holds() -> dict[str, Any] | None:
            pod = self.kubectl.get("pod", name)
            conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", [])}
            return pod if conditions.get("Ready") == "True" else None

        found: dict[str, Any] = await self.kubectl.until(f"pod {name} is ready", holds)
        return found

    async def delete(self, *names: str) -> None:
        """Delete pods and wait until they are gone."""
        await asyncio.to_thread(self.kubectl, "delete", "pod", *names, "--wait", timeout=600)

    async def inside(self, command: str) -> str:
        """What a shell command in the guest prints."""
        done = await self.machine.guest.run(["sh", "-c", command])
        assert done.exit_code == 0, done.stderr.decode()
        return done.stdout.decode().strip()


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox:1", "imagePullPolicy": "IfNotPresent", "command": LOOP} | more


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    if lacking := controlplane.missing():
        pytest.skip(lacking)
    if packages := image.missing_tools():
        pytest.skip(f"needs the packages {' '.join(packages)}")
    data = tmp_path_factory.mktemp("machine")
    with controlplane.control_plane() as real:
        real.start_controllers()
        async with joined(real, data, lambda text: print(text, file=sys.stderr)) as machine:  # noqa: T201
            made = Cluster(real, machine)
            try:
                await made.kubectl.until("the node is ready", lambda: _is_ready(made.kubectl))
                yield made
            finally:
                await _keep_logs(made, data)


def _is_ready(kubectl: Kubectl) -> bool:
    conditions = kubectl.get("node", NODE)["status"]["conditions"]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def _keep_logs(made: Cluster, data: Path) -> None:
    """The end of the guest's logs, for whoever looks at a failure."""
    text = await made.inside("tail -n 40 /var/log/agent.log; tail -n 15 /var/log/containerd.log")
    (data / "guest.log").write_text(text)
    print(text)  # noqa: T201


async def test_the_node_is_what_its_machine_is(cluster: Cluster) -> None:
    """Capacity, addresses, endpoint and declared features of the Node."""
    status = (await asyncio.to_thread(cluster.kubectl.get, "node", NODE))["status"]
    assert (status["capacity"]["cpu"], status["capacity"]["pods"]) == ("2", "110")
    assert (
        status["capacity"]["memory"] == f"{await cluster.inside('grep MemTotal /proc/meminfo')}".split()[1] + "Ki"
    )
    assert {each["type"]: each["address"] for each in status["addresses"]} == {
        "InternalIP": "10.0.2.15",
        "Hostname": NODE,
    }
    assert status["declaredFeatures"] == [
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
    ]
    assert status["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://1.7")


async def test_logs_exec_and_port_forward(cluster: Cluster) -> None:
    """Streams go from kubectl through the API server and the node to the container, and back."""
    await cluster.pod("web", containers=[container("c", command=["sh", "-c", WEB])])
    await cluster.running("web")
    kubectl = cluster.kubectl
    assert await asyncio.to_thread(kubectl, "logs", "web") == "hello\n"
    assert await asyncio.to_thread(kubectl, "exec", "web", "--", "echo", "there") == "there\n"
    assert await asyncio.to_thread(kubectl, "exec", "-i", "web", "--", "cat", text="in and out") == "in and out"
    code = await asyncio.to_thread(_exit_code, kubectl, "exec", "web", "--", "sh", "-c", "exit 7")
    assert code == 7
    assert await _forwarded(cluster) == b"HTTP/1.1 404 Not Found"
    await cluster.delete("web")


WEB = "echo hello; busybox httpd -f -p 8080 -h /tmp & trap 'exit 0' TERM; wait"


def _exit_code(kubectl: Kubectl, *arguments: str) -> int:
    return subprocess.run([*kubectl._command, *arguments], capture_output=True, check=False).returncode


async def _forwarded(cluster: Cluster) -> bytes:
    """The first line that the pod's web server says through kubectl port-forward."""
    process = await asyncio.create_subprocess_exec(
        *cluster.kubectl._command, "port-forward", "pod/web", ":8080", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        port = int(line.split("127.0.0.1:")[1].split(" ")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = (await reader.readline()).strip()
        writer.close()
        return answer
    finally:
        process.terminate()
        await process.wait()


async def test_the_pod_of_the_measured_kubelet(cluster: Cluster) -> None:
    """The same cgroup values and status as a stock kubelet gave for the same pod, and a resize in place."""
    own = {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}
    level = {"requests": {"cpu": "200m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}}
    await cluster.pod("pl", resources=level, containers=[container("a", resources=own), container("b")])
    pod = await cluster.running("pl")
    runs = pod["status"]["containerStatuses"]
    ids: dict[str, str] = {each["name"]: each["containerID"].partition("//")[2] for each in runs}
    place = f"/sys/fs/cgroup/kubepods/burstable/pod{pod['metadata']['uid']}"
    assert await _values(cluster, place) == ["50000 100000", "8", "268435456"]
    assert await _values(cluster, f"{place}/{ids['a']}") == ["10000 100000", "2", "67108864"]
    assert await _values(cluster, f"{place}/{ids['b']}") == ["50000 100000", "20", "268435456"]
    status = pod["status"]
    assert status["resources"] == level
    assert status["allocatedResources"] == level["requests"]
    assert [each["resources"] for each in status["containerStatuses"]] == [own, {}]

    wish = {"spec": {"resources": {"requests": {"cpu": "300m"}, "limits": {"cpu": "700m", "memory": "320Mi"}}}}
    await asyncio.to_thread(
        cluster.kubectl, "patch", "pod", "pl", "--subresource", "resize", "-p", json.dumps(wish)
    )
    new = {"requests": {"cpu": "300m", "memory": "128Mi"}, "limits": {"cpu": "700m", "memory": "320Mi"}}
    done = await cluster.kubectl.until("the resize is done", lambda: _resized(cluster.kubectl, new))
    assert await _values(cluster, place) == ["70000 100000", "12", "335544320"]
    assert await _values(cluster, f"{place}/{ids['b']}") == ["70000 100000", "20", "335544320"]
    assert [each["restartCount"] for each in done["status"]["containerStatuses"]] == [0, 0]
    await cluster.delete("pl")


async def _values(cluster: Cluster, path: str) -> list[str]:
    return (await cluster.inside(f"cd {path} && cat cpu.max cpu.weight memory.max")).splitlines()


def _resized(kubectl: Kubectl, resources: dict[str, Any]) -> dict[str, Any] | None:
    pod = kubectl.get("pod", "pl")
    resizing = {each["type"] for each in pod["status"]["conditions"]} & {"PodResizePending", "PodResizeInProgress"}
    return pod if pod["status"]["resources"] == resources and not resizing else None


async def test_workloads(cluster: Cluster) -> None:
    """A Deployment rolls, a Job completes, a failing liveness probe restarts its container."""
    labels = {"app": "d"}
    template: dict[str, Any] = {
        "metadata": {"labels": labels},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container("c")]},
    }
    body = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await cluster.create(apiVersion="apps/v1", kind="Deployment", metadata={"name": "d"}, spec=body)
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": [container("c", command=["true"])]}}}
    await cluster.create(apiVersion="batch/v1", kind="Job", metadata={"name": "j"}, spec=job)
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    await cluster.pod("ill", containers=[container("c", livenessProbe=probe)])
    kubectl = cluster.kubectl
    await asyncio.to_thread(kubectl, "rollout", "status", "deployment/d", "--timeout=600s", timeout=620)
    await asyncio.to_thread(kubectl, "set", "env", "deployment/d", "ROUND=2")
    await asyncio.to_thread(kubectl, "rollout", "status", "deployment/d", "--timeout=600s", timeout=620)
    await asyncio.to_thread(kubectl, "wait", "--for=condition=Complete", "job/j", "--timeout=600s", timeout=620)
    await kubectl.until(
        "the container restarts",
        lambda: kubectl.get("pod", "ill")["status"]["containerStatuses"][0]["restartCount"],
    )
    await asyncio.to_thread(kubectl, "delete", "deployment/d", "job/j", "pod/ill", "--wait", timeout=600)


async def test_the_node_follows_its_machine(cluster: Cluster) -> None:
    """Two CPUs and a GiB in: the real scheduler finds room. Out again: that pod ends, its neighbour runs on."""
    kubectl, small = cluster.kubectl, await _sizes(cluster)
    asked = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    await cluster.pod("steady", containers=[container("c", resources=asked)])
    steady = await cluster.running("steady")
    await cluster.pod(
        "big", containers=[container("c", resources={"requests": {"cpu": "2500m", "memory": "32Mi"}})]
    )
    await kubectl.until("it waits for room", lambda: _has_reason(kubectl, "big", "Unschedulable"))

    await _change(cluster, sizing.plug)
    await kubectl.until("the node grows", lambda: _capacity(kubectl) == ("4", small[1] + GIB))
    await cluster.running("big")
    assert await _sizes(cluster) == ("0-3", small[1] + GIB)

    await _change(cluster, sizing.unplug)
    await kubectl.until("the node shrinks", lambda: _capacity(kubectl) == ("2", small[1]))
    ended = await kubectl.until("it ends", lambda: _failed(kubectl, "big"))
    words = "cpu, requested: 2500, used: 100, capacity: 2000"
    assert (ended["reason"], ended["message"]) == (
        "OutOfcpu",
        f"Pod was rejected: Node didn't have enough resource: {words}",
    )
    assert {each["type"]: each.get("reason") for each in ended["conditions"]}["DisruptionTarget"] == (
        "TerminationByKubelet"
    )
    await kubectl.until(
        "all pods are held to it", lambda: kubectl.get("node", NODE)["spec"].get("taints", []) == []
    )
    runs = (await cluster.status("steady"))["containerStatuses"]
    assert [(each["containerID"], each["restartCount"]) for each in runs] == [
        (each["containerID"], 0) for each in steady["status"]["containerStatuses"]
    ]
    await cluster.delete("steady", "big")


async def _change(cluster: Cluster, deed: Deed) -> None:
    done = await deed(cluster.machine.hypervisor, None, Wish(cpus=2, memory=GIB))
    assert isinstance(done, Change), done
    assert done.refusal is None, done.refusal


async def _sizes(cluster: Cluster) -> tuple[str, int]:
    """The CPUs and the memory that all pods together are held to."""
    cpus, memory = (await cluster.inside("cd /sys/fs/cgroup/kubepods && cat cpuset.cpus memory.max")).split()
    return cpus, int(memory)


def _capacity(kubectl: Kubectl) -> tuple[str, int]:
    found = kubectl.get("node", NODE)["status"]["capacity"]
    return found["cpu"], Quantity.parse(found["memory"]).value


def _has_reason(kubectl: Kubectl, name: str, reason: str) -> bool:
    conditions = kubectl.get("pod", name)["status"].get("conditions", ())
    return any(each.get("reason") == reason for each in conditions)


def _failed(kubectl: Kubectl, name: str) -> dict[str, Any] | None:
    status: dict[str, Any] = kubectl.get("pod", name)["status"]
    return status if status["phase"] == "Failed" else None
