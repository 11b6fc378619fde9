"""What a node in a virtual machine is told, and when it counts as there."""

import asyncio
import json
import shlex
import time
from pathlib import Path

from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.adapters.nodeserver import tls
from flexlet.apiserver.auth import certificates
from flexlet.apiserver.server import Settings
from flexlet.apps import vmnode
from flexlet.apps.up import Here, Hollow, Vm, reaching
from flexlet.core.lab.spec import MachineSpec


def test_the_guest_finds_its_command_and_its_files() -> None:
    configuration = vmnode.kubelet_configuration(4000, {"maxPods": 5})
    files = vmnode.config_files("a b", b"kc", b"ca", configuration, "X=true")
    env = dict(line.split("=", 1) for line in files["node.env"].decode().splitlines())
    command = shlex.split(shlex.split(env["AGENT"])[0])
    assert command[:3] == ["flexlet", "agent", "--verbose"]
    pairs = dict(zip(command[3::2], command[4::2], strict=True))
    assert pairs == {
        "--kubeconfig": "/etc/flexlet/kubeconfig",
        "--config": "/etc/flexlet/config.yaml",
        "--node-name": "a b",
        "--node-ip": "10.0.2.15",
        "--feature-gates": "X=true",
    }
    assert (files["kubeconfig"], files["ca.crt"]) == (b"kc", b"ca")
    assert json.loads(files["config.yaml"]) == configuration
    assert (configuration["port"], configuration["maxPods"]) == (4000, 5)


def test_the_guest_may_be_told_how_to_follow_its_machine() -> None:
    files = vmnode.config_files("n", b"kc", b"ca", {}, resize=b"kind: NodeResizeConfiguration\n")
    assert files["resize.yaml"] == b"kind: NodeResizeConfiguration\n"
    assert b"--node-resize-config /etc/flexlet/resize.yaml" in files["node.env"]


def test_a_free_port_can_be_bound() -> None:
    assert 0 < vmnode.free_port() < 65536


async def test_a_node_is_there_when_it_says_so_after_now() -> None:
    """What an earlier machine of that name said does not count."""
    cluster, clock = FakeCluster(), FakeClock(1_800_000_000.0)

    class Slow(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            said = {1: None, 2: ("True", "2020-01-01T00:00:00Z"), 3: ("False", "2030-01-01T00:00:00Z")}
            condition = said.get(len(self.slept), ("True", "2030-01-01T00:00:00Z"))
            if condition is not None:
                ready = {"type": "Ready", "status": condition[0], "lastHeartbeatTime": condition[1]}
                cluster.put("nodes", {"metadata": {"name": "n"}, "status": {"conditions": [ready]}})

    slow = Slow(clock.time)
    await vmnode.ready(cluster, "n", slow)
    assert len(slow.slept) == 4


async def test_an_endpoint_is_waited_for_until_it_has_its_certificate() -> None:
    """It closes handshakes before; after some time the wait is over anyhow."""
    clock = FakeClock(0.0)
    await vmnode.serves(vmnode.free_port(), clock)
    assert clock.monotonic() >= vmnode._SERVES_S
    pair = certificates.new_authority("n", time.time())
    context = tls.serving_context(pair.certificate_pem, pair.key_pem)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        since = clock.monotonic()
        await vmnode.serves(server.sockets[0].getsockname()[1], clock)
        assert clock.monotonic() == since


def test_real_nodes_are_on_this_host() -> None:
    """Hollow ones are nowhere; what the operator says of further nodes is kept."""
    settings = Settings(data=Path("x"), node_hosts={"second": "192.0.2.1"})
    assert reaching(settings, Hollow()) == settings
    in_vm = reaching(settings, Vm(MachineSpec("vm")))
    assert in_vm.node_hosts == {"vm": "127.0.0.1", "second": "192.0.2.1"}
    assert in_vm.names == (vmnode.HOST_SEEN_FROM_GUEST,)
    assert reaching(settings, Here("Me")).node_hosts == {"me": "127.0.0.1", "second": "192.0.2.1"}
