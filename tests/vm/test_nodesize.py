"""A node's size as a wish, with the machine behind it: QEMU plugs what the balloon cannot give back."""

import asyncio
import subprocess
import sys

import msgspec
import pytest
from tests.vm.node import NAME, Hands, Node, container, runs

from flexlet.api.quantity import Quantity
from flexlet.ports.cluster import NODES, Ref

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1500)]
SIZES = Ref("flexlet.io", "v1alpha1", "nodesizes")
MIB = 1024**2


async def resize(node: Node, *wish: str) -> tuple[int, str]:
    """What ``flexlet resize node`` says, and its exit code."""
    place = ("--kubeconfig", str(node.kubeconfig), "--timeout", "600")
    command = [sys.executable, "-m", "flexlet", "resize", "node", NAME, *wish, *place]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


async def capacity(hands: Hands) -> tuple[int, int]:
    """CPUs and MiB that the Node shows."""
    found = (await hands.get(NAME, NODES))["status"]["capacity"]
    return Quantity.parse(found["cpu"]).value, Quantity.parse(found["memory"]).value // MIB


async def test_the_machine_follows_the_wish(node: Node, hands: Hands) -> None:
    """Past what it has it is plugged, and unplugged again behind a fence; who runs does not notice.

    What the guest keeps stays behind the balloon.
    """
    web = await hands.start("web", container(resources={"requests": {"cpu": "500m", "memory": "64Mi"}}))
    cpus, memory = await capacity(hands)
    socket = str(node.vm.directory.file("qmp.sock"))
    try:
        code, said = await resize(node, "--cpu", "3", "--memory", "2560Mi", "--via", "Auto", "--qmp", socket)
        assert code == 0, said
        grown = await capacity(hands)
        assert (grown[0], grown[1] > memory) == (cpus + 1, True)
        code, said = await resize(node, "--cpu", "1900m", "--memory", "1536Mi")
        assert code == 0, said
        assert (await capacity(hands))[0] == cpus
        status = msgspec.json.decode(await hands.api.get(SIZES, "", NAME))["status"]
        assert status["effective"] == {"cpu": "1900m", "memory": "1536Mi"}
        # Memory that the machine was started with cannot go, and it is said who holds it back instead.
        assert status["machine"]["phase"] == "Refused"
        assert status["machine"]["message"].endswith(": the balloon is the downsizing")
        assert runs(await hands.get("web")) == runs(web)
    finally:
        await hands.api.delete(SIZES, "", NAME)
        await hands.delete("web")
    await hands.until("the balloon is gone", NAME, lambda found: not found["spec"].get("taints"), NODES)
