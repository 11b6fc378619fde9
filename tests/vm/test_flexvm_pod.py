"""A FlexVM in full depth: QEMU in a launcher pod on a node that is itself a QEMU machine, all of it emulated.

The machine in the machine starts once, because that is slow; each test leaves it as it found it. Seen from all
sides: the API, the kernel's cgroup of the pod beside QEMU's own monitor (by a witness on the node), and the
console of the guest.
"""

import asyncio
import base64
import inspect
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from tests.vm import flexvm, secondnode, witness
from tests.vm.flexvm import VMS
from tests.vm.node import NAME, NAMESPACE, Hands, Node, Object, cgroup, eventually, lives, runs, up
from tests.vm.terminal import Terminal

from flexlet.api.quantity import Quantity
from flexlet.api.units import MIB
from flexlet.core.vm import names
from flexlet.ports.cluster import PODS, Ref

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1500)]

MIGRATIONS = Ref(*names.MIGRATIONS)
SMALL, LARGE = 256 * MIB, 384 * MIB
# What the kernel makes of a request of 100m for each vCPU.
WEIGHTS = {1: 4, 2: 8}


class Look(NamedTuple):
    """What the witness saw at one moment."""

    weight: int
    limit: int
    vcpus: int
    memory: int


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that brings along what virtual machines need, and a machine that runs on it."""
    with up(tmp_path_factory.mktemp("vms"), "--vms", "--node-memory", "3Gi", *secondnode.REACHED) as running:
        asyncio.run(_with_hands(running, _begin))
        yield running
        asyncio.run(_with_hands(running, _end))


async def _with_hands(node: Node, deed: Any) -> None:
    async with node.hands() as hands:
        await deed(hands)


async def _begin(hands: Hands) -> None:
    await secondnode.prepare(hands)
    await hands.create(VMS, flexvm.tiny())
    await hands.ready("virt-launcher-tiny")
    text = await flexvm.says(hands, "virt-launcher-tiny", cpus=1)
    assert "disk says hello from a containerDisk" in text


async def _end(hands: Hands) -> None:
    pod = (await flexvm.launcher(hands))["metadata"]["name"]
    await hands.delete(flexvm.NAME, ref=VMS)
    await eventually(lambda: hands._gone(pod, PODS))


@pytest_asyncio.fixture
async def hands(node: Node) -> AsyncIterator[Hands]:
    async with node.hands() as connected:
        yield connected


async def test_a_guest_grows_within_its_pod_and_never_beyond(hands: Hands) -> None:
    first = await flexvm.launcher(hands)
    pod = first["metadata"]["name"]
    start = flexvm.said(await flexvm.says(hands, pod, cpus=1))[-1].memory_kib
    await _post_witness(hands, first)

    grown = await _resized(hands, vcpus=2, memory=LARGE)
    await flexvm.says(hands, pod, cpus=2, memory_kib=start + (LARGE - SMALL) // 1024)
    assert _amounts(grown) == _pod(vcpus=2, memory=LARGE)
    assert await hands.cgroup(grown, "compute") == ["max 100000", "8", str(_pod_memory(2, LARGE))]
    assert lives(grown) == lives(first)

    shrunk = await _resized(hands, vcpus=1, memory=SMALL)
    await flexvm.says(hands, pod, cpus=1, memory_kib=start)
    assert _amounts(shrunk) == _pod(vcpus=1, memory=SMALL)
    assert lives(shrunk) == lives(first)

    looks = await _looks(hands)
    assert [look for look in looks if not _has_room(look)] == []
    assert {(look.vcpus, look.memory) for look in looks} >= {(1, SMALL), (2, LARGE)}
    assert _first(looks, lambda look: look.weight == WEIGHTS[2]) <= _first(looks, lambda look: look.vcpus == 2)


async def test_a_console_in_a_terminal(node: Node, hands: Hands) -> None:
    """Keys reach the guest's shell and its answer comes back; Ctrl-] leaves, and the guest goes on."""
    pod = (await flexvm.launcher(hands))["metadata"]["name"]
    async with Terminal("vm", "console", flexvm.NAME, "--kubeconfig", str(node.kubeconfig)) as terminal:
        await terminal.shows("Ctrl-] leaves it")
        await terminal.type("echo answer $((6 * 7))\r")
        await terminal.shows("answer 42")
        await terminal.type("\x1d")
        assert await terminal.ended() == 0
        assert terminal.is_restored
    logged = await asyncio.to_thread(_kubectl, node, "logs", pod) or await flexvm.log(hands, pod)
    assert "answer 42" in logged
    last = flexvm.said(logged)[-1].up_s
    await eventually(lambda: _is_up_longer(hands, pod, last), look_s=flexvm.LOOK_S)


async def test_a_machine_moves_to_another_node_and_back(node: Node, hands: Hands) -> None:
    """The guest goes on where it was, in another pod; the old one is gone."""
    await secondnode.start(node, hands)
    first = await flexvm.launcher(hands)
    assert first["spec"]["nodeName"] == NAME
    there = await _moved(node, hands, first, to=secondnode.NAME)
    back = await _moved(node, hands, there, to=NAME)
    assert len({pod["metadata"]["uid"] for pod in (first, there, back)}) == 3


async def _moved(node: Node, hands: Hands, source: Object, to: str) -> Object:
    """Move it as a user does; the pod in which it runs then, after everything was looked at."""
    old = source["metadata"]["name"]
    before = flexvm.said(await flexvm.says(hands, old, cpus=1))[-1]
    command = ("vm", "migrate", flexvm.NAME, "--timeout", "600", "--kubeconfig", str(node.kubeconfig))
    done = await asyncio.to_thread(_flexlet, *command)
    assert (done.returncode, done.stdout.split(":")[0]) == (
        0,
        f"{flexvm.NAME}  {source['spec']['nodeName']} -> {to}",
    ), done
    await eventually(lambda: hands._gone(old, PODS))
    target = await flexvm.launcher(hands)
    new = target["metadata"]["name"]
    await eventually(lambda: _is_up_longer(hands, new, before.up_s), look_s=flexvm.LOOK_S)
    text = await flexvm.log(hands, new)
    assert "vm-guest: booted" not in text
    assert flexvm.said(text)[-1][1:] == before[1:]
    await _check_move(hands, source, target)
    return target


async def _check_move(hands: Hands, source: Object, target: Object) -> None:
    """What the API says of a move that is over."""
    moves = await hands.listed(MIGRATIONS)
    status = max((each["status"] for each in moves), key=lambda status: status["startedAt"])
    places = ("phase", "sourcePod", "sourceNode", "targetPod", "targetNode")
    assert [status[key] for key in places] == [
        "Succeeded",
        *(source["metadata"]["name"], source["spec"]["nodeName"]),
        *(target["metadata"]["name"], target["spec"]["nodeName"]),
    ]
    assert status["transferredBytes"] > 10 * MIB
    vm = await hands.get(flexvm.NAME, VMS)
    assert vm["status"]["pod"]["uid"] == target["metadata"]["uid"]
    assert names.MIGRATION_LABEL not in target["metadata"]["labels"]
    assert _amounts(target) == _pod(vcpus=1, memory=SMALL)


async def _is_up_longer(hands: Hands, pod: str, than: float) -> bool:
    """Whether the guest has said that it is up for longer: it has neither stopped nor started anew."""
    return any(each.up_s > than for each in flexvm.said(await flexvm.log(hands, pod)))


def _kubectl(node: Node, *words: str) -> str:
    """What kubectl prints, empty if there is none here."""
    found = shutil.which("kubectl")
    command = [str(found), "--kubeconfig", str(node.kubeconfig), "-n", NAMESPACE, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout if found else ""


def _flexlet(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "flexlet", *words], capture_output=True, text=True, check=False)


async def _resized(hands: Hands, *, vcpus: int, memory: int) -> Object:
    """Ask the FlexVM for another size and wait until it says that it is done, covered all the way; its pod."""
    domain = {"cpu": {"vcpus": vcpus}, "memory": {"guest": f"{memory // MIB}Mi"}}
    patch = {"spec": {"template": {"spec": {"domain": domain}}}}
    await hands.api.patch(VMS, NAMESPACE, flexvm.NAME, patch, kind="merge")

    def done(found: Object) -> bool:
        assert _is_covered(found["status"]), found["status"]
        resize = found["status"].get("resize") or {}
        reached = resize.get("reached") or {}
        return (resize.get("phase"), reached.get("vcpus"), reached.get("memory")) == (
            "Done",
            vcpus,
            f"{memory // MIB}Mi",
        )

    await hands.until(f"it has {vcpus} vCPUs and {memory // MIB}Mi", flexvm.NAME, done, VMS)
    return await flexvm.launcher(hands)


def _is_covered(status: Object) -> bool:
    """Whether the node had granted the pod at least what the guest has, as the FlexVM tells it."""
    vcpus, granted = status["currentCPUTopology"]["sockets"], status["pod"]["allocated"]
    need = _pod_memory(vcpus, Quantity.parse(status["memory"]["guestCurrent"]).value)
    has_cpu = Quantity.parse(granted["cpu"]).milli >= vcpus * 100
    return has_cpu and Quantity.parse(granted["memory"]).value >= need


async def _post_witness(hands: Hands, pod: Object) -> None:
    text = base64.b64encode(inspect.getsource(witness).encode()).decode()
    folder = f"/var/lib/kubelet/pods/{pod['metadata']['uid']}/volumes/kubernetes.io~empty-dir/run"
    # A socket's path must be short.
    await hands.inside(f"ln -sfn {folder} /run/vm; echo {text} | base64 -d >/run/witness.py")
    command = f"python3 /run/witness.py {cgroup(pod, 'compute')} /run/vm/{Path(names.DEBUG_SOCKET).name}"
    await hands.inside(f"{command} >/run/witness.log 2>&1 </dev/null &")


async def _looks(hands: Hands) -> list[Look]:
    """All moments at which the cgroup was the same before and after."""
    found = [line.split() for line in (await hands.inside("cat /run/witness.log")).splitlines()]
    assert all(len(words) == 6 for words in found), found[-1]
    return [Look(*map(int, words[:4])) for words in found if words[:2] == words[4:]]


def _has_room(look: Look) -> bool:
    return look.weight >= WEIGHTS[look.vcpus] and look.limit >= _pod_memory(look.vcpus, look.memory)


def _pod_memory(vcpus: int, memory: int) -> int:
    """The guest and KubeVirt's overhead: page tables, 240Mi of processes, 8Mi for each vCPU and for I/O."""
    tables = -(-memory // 512)
    return memory + tables + (240 + 8 + 8 * vcpus) * MIB


def _pod(*, vcpus: int, memory: int) -> Object:
    size = str(Quantity.of_bytes(_pod_memory(vcpus, memory)))
    return {"requests": {"cpu": f"{vcpus * 100}m", "memory": size}, "limits": {"memory": size}}


def _amounts(pod: Object) -> Any:
    found = runs(pod)["compute"]
    assert found["allocatedResources"] == found["resources"]["requests"]
    return found["resources"]


def _first(looks: list[Look], holds: Any) -> int:
    return next(number for number, look in enumerate(looks) if holds(look))
