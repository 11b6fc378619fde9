"""A FlexVM in full depth: QEMU in a launcher pod on a node that is itself a QEMU machine, all of it emulated.

Once, because it is slow: the machine in the machine starts, grows and shrinks. Seen from all sides: the API, the
kernel's cgroup of the pod beside QEMU's own monitor (by a witness on the node), and the guest's console.
"""

import base64
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from tests.vm import witness
from tests.vm.node import NAMESPACE, Hands, Node, Object, cgroup, eventually, lives, runs, up

from flexlet.adapters.image import vmguest
from flexlet.api.quantity import Quantity
from flexlet.api.units import MIB
from flexlet.core.vm import names
from flexlet.ports.cluster import Ref

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1500)]

VMS = Ref(*names.FLEX_VMS)
POD = "virt-launcher-tiny"
BOOT_S = 900.0
# Who looks takes the node's CPU from the guest.
LOOK_S = 5.0
SMALL, LARGE = 256 * MIB, 384 * MIB
# Has nothing that costs emulation more than it saves: no strings of bytes, no wide registers, no wide exchange.
MODEL = "Opteron_G1"
SAID = re.compile(r"vm-guest: up \S+ s, cpus (\d+), memory (\d+) kB")
# What the kernel makes of a request of 100m for each vCPU.
WEIGHTS = {1: 4, 2: 8}


def tiny() -> Object:
    """As small as it goes; the limit makes the kernel hold what the pod's size says."""
    container = {"image": vmguest.NAME, "kernelPath": vmguest.KERNEL, "initrdPath": vmguest.INITRD}
    domain = {
        "cpu": {"vcpus": 1, "maxSockets": 2, "model": MODEL},
        "memory": {"guest": "256Mi", "minGuest": "256Mi", "maxGuest": "512Mi"},
        "resources": {"requests": {"memory": "256Mi"}, "limits": {"memory": "256Mi"}},
        "firmware": {"kernelBoot": {"kernelArgs": vmguest.KERNEL_ARGS, "container": container}},
        "devices": {"disks": [{"name": "greeting", "disk": {"bus": "virtio", "readonly": True}}]},
    }
    volumes = [{"name": "greeting", "containerDisk": {"image": vmguest.NAME}}]
    spec = {"domain": domain, "volumes": volumes, "terminationGracePeriodSeconds": 20}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": "tiny"},
        "spec": {"template": {"spec": spec}},
    }


class Look(NamedTuple):
    """What the witness saw at one moment."""

    weight: int
    limit: int
    vcpus: int
    memory: int


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that brings along what virtual machines need."""
    with up(tmp_path_factory.mktemp("vms"), "--vms", "--node-memory", "3Gi") as running:
        yield running


@pytest_asyncio.fixture
async def hands(node: Node) -> AsyncIterator[Hands]:
    async with node.hands() as connected:
        yield connected


async def test_a_guest_grows_within_its_pod_and_never_beyond(hands: Hands) -> None:
    await hands.create(VMS, tiny())
    await hands.ready(POD)
    assert "disk says hello from a containerDisk" in await _console(hands, cpus=1)
    first = await hands.get(POD)
    start = await _memory_said(hands)
    await _post_witness(hands, first)

    grown = await _resized(hands, vcpus=2, memory=LARGE)
    await _console(hands, cpus=2, memory=start + (LARGE - SMALL) // 1024)
    assert _amounts(grown) == _pod(vcpus=2, memory=LARGE)
    assert await hands.cgroup(grown, "compute") == ["max 100000", "8", str(_pod_memory(2, LARGE))]
    assert lives(grown) == lives(first)

    shrunk = await _resized(hands, vcpus=1, memory=SMALL)
    await _console(hands, cpus=1, memory=start)
    assert _amounts(shrunk) == _pod(vcpus=1, memory=SMALL)
    assert lives(shrunk) == lives(first)

    looks = await _looks(hands)
    assert [look for look in looks if not _has_room(look)] == []
    assert {(look.vcpus, look.memory) for look in looks} >= {(1, SMALL), (2, LARGE)}
    assert _first(looks, lambda look: look.weight == WEIGHTS[2]) <= _first(looks, lambda look: look.vcpus == 2)
    await hands.delete("tiny", ref=VMS)
    await eventually(lambda: hands._gone(POD, Ref("", "v1", "pods")))


async def _resized(hands: Hands, *, vcpus: int, memory: int) -> Object:
    """Ask the FlexVM for another size and wait until it says that it is done, covered all the way; its pod."""
    domain = {"cpu": {"vcpus": vcpus}, "memory": {"guest": f"{memory // MIB}Mi"}}
    patch = {"spec": {"template": {"spec": {"domain": domain}}}}
    await hands.api.patch(VMS, NAMESPACE, "tiny", patch, kind="merge")

    def done(found: Object) -> bool:
        assert _is_covered(found["status"]), found["status"]
        resize = found["status"].get("resize") or {}
        reached = resize.get("reached") or {}
        return (resize.get("phase"), reached.get("vcpus"), reached.get("memory")) == (
            "Done",
            vcpus,
            f"{memory // MIB}Mi",
        )

    await hands.until(f"it has {vcpus} vCPUs and {memory // MIB}Mi", "tiny", done, VMS)
    return await hands.get(POD)


def _is_covered(status: Object) -> bool:
    """Whether the node had granted the pod at least what the guest has, as the FlexVM tells it."""
    vcpus, granted = status["currentCPUTopology"]["sockets"], status["pod"]["allocated"]
    need = _pod_memory(vcpus, Quantity.parse(status["memory"]["guestCurrent"]).value)
    has_cpu = Quantity.parse(granted["cpu"]).milli >= vcpus * 100
    return has_cpu and Quantity.parse(granted["memory"]).value >= need


async def _log(hands: Hands) -> str:
    """What ``kubectl logs`` shows."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{POD}/log?container=compute&tailLines=400"
    return (await hands.api.read(path)).decode(errors="replace")


async def _console(hands: Hands, cpus: int, memory: int | None = None) -> str:
    """Wait until the guest says that it has so many CPUs, and KiB; all that it said."""

    async def said() -> str:
        log = await _log(hands)
        last = [tuple(map(int, each)) for each in SAID.findall(log)][-1:]
        return log if last and last[0] == (cpus, last[0][1] if memory is None else memory) else ""

    log: str = await eventually(said, BOOT_S, look_s=LOOK_S)
    return log


async def _memory_said(hands: Hands) -> int:
    """MemTotal in KiB as the guest last said it."""
    return int(SAID.findall(await _log(hands))[-1][1])


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
