"""The agent as it is wired for a real host: against a real API server, a scripted runtime, and a borrowed tree."""

import asyncio
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.adapters.cri.fakeserver import FakeServer
from tests.adapters.cri.fakeserver import serving as cri_serving

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.api.status import ApiError
from flexlet.apiserver import joining
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.apps.agent import AgentOptions, agent, run_agent
from flexlet.errors import ConfigError
from flexlet.ports.cluster import NODES, PODS

pytestmark = pytest.mark.slow

CLOCK = SystemClock()
NODE = "n1"
FILES = (
    *("cpu.weight", "cpu.max", "cpuset.cpus", "memory.max", "memory.high", "memory.min", "memory.low"),
    "pids.max",
)


def tree(root: Path) -> Path:
    """As much of a cgroup tree as plain files can be."""
    for path in (root, *(root / "kubepods" / each for each in ("", "burstable", "besteffort")), root / "system"):
        path.mkdir(parents=True, exist_ok=True)
        (path / "cgroup.controllers").write_text("cpu memory pids\n")
        for name in FILES:
            (path / name).touch()
    return root


def runtime() -> FakeServer:
    """One that is well and has nothing."""
    fake = FakeServer()
    ready = [pb.RuntimeCondition(type=each, status=True) for each in ("RuntimeReady", "NetworkReady")]
    fake.replies["Status"] = pb.StatusResponse(status=pb.RuntimeStatus(conditions=ready))
    fake.replies["GetContainerEvents"] = []
    return fake


class World:
    """A server, a runtime and a host for one agent."""

    def __init__(self, server: ApiServer, directory: Path, fake: FakeServer) -> None:
        self.server = server
        self.directory = directory
        self.runtime = fake

    def options(self, *, ip: str = "127.0.0.1", **config: Any) -> AgentOptions:
        kubeconfig, path, authority = (self.directory / each for each in ("kubeconfig", "config.json", "ca.crt"))
        kubeconfig.write_bytes(joining.node_kubeconfig(self.server, NODE, self.server.url))
        authority.write_text(self.server.pki.ca_pem)
        body = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{self.directory}/cri",
            "healthzPort": 0,
            "podLogsDir": str(self.directory / "logs"),
            "authentication": {"x509": {"clientCAFile": str(authority)}},
            "failSwapOn": False,
        }
        path.write_bytes(msgspec.json.encode(body | config))
        return AgentOptions(
            kubeconfig=kubeconfig,
            config=path,
            node_name=NODE,
            node_ips=(ip,),
            root=self.directory / "kubelet",
            listen=("127.0.0.1", 0),
            cgroup_root=tree(self.directory / "cgroup"),
        )

    async def node(self) -> dict[str, Any]:
        """The Node, once it is there and ready."""
        async with asyncio.timeout(30):
            while True:
                found = await self._node()
                ready = [each["status"] for each in found["status"]["conditions"] if each["type"] == "Ready"]
                if ready == ["True"]:
                    return found
                await asyncio.sleep(0.02)

    async def _node(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = msgspec.json.decode(await self.server.cluster.get(NODES, "", NODE))
        except ApiError:
            return {"status": {"conditions": []}}
        return found

    async def page(self, port: int, path: str) -> str:
        """A page of the endpoint, asked for as the administrator."""
        admin = self.server.pki.client("admin", ["system:masters"], CLOCK.now())
        pair = self.directory / "admin.pem"
        pair.write_bytes(admin.certificate_pem + admin.key_pem)
        context = ssl._create_unverified_context()  # noqa: S323  self-signed
        context.load_cert_chain(pair)
        url = f"https://127.0.0.1:{port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, ssl=context) as answer:
            return await answer.text()


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    with TemporaryDirectory(prefix="agent-") as short:
        directory, fake = Path(short), runtime()
        async with (
            serving(Settings(data=directory / "data"), CLOCK) as server,
            cri_serving(directory / "cri", fake),
        ):
            yield World(server, directory, fake)


async def test_a_host_becomes_a_node_and_shows_itself() -> None:
    """It registers with the port it really has, and answers there: health, configuration, metrics."""
    async with world() as there, agent(there.options(), CLOCK) as tasks:
        node = await there.node()
        port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        assert port not in {0, 10250}
        assert await there.page(port, "/healthz") == "ok"
        shown = msgspec.json.decode(await there.page(port, "/configz"))["kubeletconfig"]
        assert (shown["failSwapOn"], shown["registryPullQPS"]) == (False, 5)
        metrics = await there.page(port, "/metrics")
        for line in (
            'kubelet_node_name{node="n1"} 1',
            "kubelet_cgroup_version 2",
            "kubelet_running_pods 0",
            'kubernetes_feature_enabled{name="InPlacePodVerticalScaling",stage=""} 1',
            'kubelet_desired_pods{static="true"} 0',
        ):
            assert line in metrics.splitlines()
        assert 'kubelet_runtime_operations_total{operation_type="status"}' in metrics
        assert (there.directory / "cgroup/kubepods/memory.max").read_text().isdecimal()
        for task in tasks:
            task.cancel()


async def test_the_cluster_may_give_the_endpoint_its_certificate() -> None:
    """With serverTLSBootstrap nobody is answered before there is a certificate, and then with that one."""
    async with world() as there, agent(there.options(ip="10.9.8.7", serverTLSBootstrap=True), CLOCK) as tasks:
        node = await there.node()
        port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        context = ssl.create_default_context(cadata=there.server.pki.ca_pem)
        context.check_hostname = False  # it is for another address than the one we reach it at
        async with asyncio.timeout(30):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
                except OSError:
                    await asyncio.sleep(0.05)
                    continue
                break
        subject = dict(part[0] for part in writer.get_extra_info("peercert")["subject"])
        assert subject == {"organizationName": "system:nodes", "commonName": "system:node:n1"}
        writer.close()
        for task in tasks:
            task.cancel()


RESIZE = "apiVersion: flexlet.io/v1alpha1\nkind: NodeResizeConfiguration\n"


async def test_a_node_that_follows_its_machine_says_so() -> None:
    """Both gates by one name; nothing of this host is touched."""
    async with world() as there:
        path = there.directory / "resize.yaml"
        path.write_text(f"{RESIZE}onlinePolicy: none\n")
        options = there.options(featureGates={"InPlaceNodeResourceResize": True})
        options = msgspec.structs.replace(options, node_resize_config=path)
        async with agent(options, CLOCK) as tasks:
            node = await there.node()
            resize = next(each for each in node["status"]["conditions"] if each["type"] == "NodeResize")
            assert (resize["status"], resize["reason"]) == ("False", "Stable")
            port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
            lines = (await there.page(port, "/metrics")).splitlines()
            for line in (
                'kubernetes_feature_enabled{name="NodeResourceHotPlug",stage="ALPHA"} 1',
                'kubernetes_feature_enabled{name="NodeResourceHotUnPlug",stage="ALPHA"} 1',
                'kubernetes_feature_enabled{name="OOMScoreRewrite",stage="BETA"} 1',
                "flexlet_node_generation 1",
                "flexlet_uevent_overruns_total 0",
                "node_resize_resync_request_total 0",
                "node_hot_unplug_request_total 0",
            ):
                assert line in lines
            async with asyncio.timeout(30):
                while not (there.directory / "kubelet/node_generation.json").exists():  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            told = msgspec.json.decode((there.directory / "kubelet/node_generation.json").read_bytes())
            assert (told["node"], told["generation"]) == (NODE, 1)
            assert told["capacity"]["cpu"] == node["status"]["capacity"]["cpu"]
            for task in tasks:
                task.cancel()


async def test_a_wrong_file_about_resizing_ends_the_agent_before_it_begins() -> None:
    async with world() as there:
        path = there.directory / "resize.yaml"
        path.write_text(f"{RESIZE}pollIntervall: 5s\n")
        options = msgspec.structs.replace(there.options(), node_resize_config=path)
        message = r"resize\.yaml: pollIntervall: there is no such field; did you mean pollInterval\?"
        with pytest.raises(ConfigError, match=message):
            async with agent(options, CLOCK):
                pass


async def test_reservations_are_enforced_in_their_cgroups() -> None:
    async with world() as there:
        options = there.options(
            systemReserved={"memory": "64Mi", "cpu": "500m"},
            systemReservedCgroup="/system",
            enforceNodeAllocatable=["pods", "system-reserved"],
        )
        async with agent(options, CLOCK) as tasks:
            assert (there.directory / "cgroup/system/memory.max").read_text() == str(64 << 20)
            assert (there.directory / "cgroup/system/cpu.weight").read_text() == "20"
            for task in tasks:
                task.cancel()


async def test_static_pods_of_a_folder_have_mirrors() -> None:
    async with world() as there:
        manifests = there.directory / "manifests"
        manifests.mkdir()
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "app", "image": "busybox:1"}]},
        }
        (manifests / "web.json").write_bytes(msgspec.json.encode(pod))
        async with agent(there.options(staticPodPath=str(manifests)), CLOCK) as tasks:
            async with asyncio.timeout(30):
                while not (await there.server.cluster.list(PODS, "default")).items:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            mirror = msgspec.json.decode(await there.server.cluster.get(PODS, "default", "web-n1"))
            assert mirror["spec"]["nodeName"] == NODE
            for task in tasks:
                task.cancel()


@pytest.mark.parametrize(
    ("config", "offer"),
    [
        ({"tlsMinVersion": "VersionTLS13"}, "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ({"tlsCipherSuites": ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]}, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    ],
)
async def test_the_endpoint_speaks_no_other_tls_than_configured(config: dict[str, Any], offer: str) -> None:
    """An older version and another suite are refused; without the setting they would do."""
    for given, works in (({}, True), (config, False)):
        async with world() as there, agent(there.options(**given), CLOCK) as tasks:
            port = (await there.node())["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
            context = ssl._create_unverified_context()  # noqa: S323  self-signed
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(offer)
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
                writer.close()
                answered = True
            except OSError:
                answered = False
            assert answered is works
            for task in tasks:
                task.cancel()


@pytest.mark.parametrize("shutdown", [False, True])
async def test_a_signal_ends_the_agent_and_systemd_hears_of_it(
    shutdown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the flag the node says that it goes down before the agent does; without it the node stays as it is.

    SIGHUP ends nothing: the agent looks at its machine again.
    """
    heard: list[str] = []
    monkeypatch.setattr("flexlet.adapters.systemd.Supervisor.tell", lambda _, state: heard.append(state))
    looked = asyncio.Event()
    look_again = "flexlet.engine.agent.resizing.following.Following.look_again"
    monkeypatch.setattr(look_again, lambda _: looked.set())
    monkeypatch.setattr("flexlet.apps.agent.logs.configure", lambda *_, **__: None)
    monkeypatch.setattr("flexlet.apps.agent.host.set_oom_score", lambda _: None)
    async with world() as there:
        options = there.options(shutdownGracePeriod="10s")
        options = msgspec.structs.replace(options, shutdown_on_sigterm=shutdown)
        named: list[str] = []
        running = asyncio.ensure_future(run_agent(options, named.append))
        await there.node()
        assert (named, heard) == ([NODE], ["READY=1"])
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(30):
            await looked.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(30):
            await running
        assert heard == ["READY=1", "STOPPING=1"]
        node = msgspec.json.decode(await there.server.cluster.get(NODES, "", NODE))
        ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        assert ready["status"] == ("False" if shutdown else "True")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().remove_signal_handler(number)
