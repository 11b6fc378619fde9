"""A FlexVM in full depth for tests: a small guest in a launcher pod on a node that is itself a machine.

Its guest tells once a second what it has, and a shell listens on its console beside that.
"""

import re
from typing import Any, Final, NamedTuple

from tests.vm.node import NAMESPACE, Hands, Object, eventually

from flexlet.adapters.image import vmguest
from flexlet.core.vm import names
from flexlet.ports.cluster import Ref

VMS: Final = Ref(*names.FLEX_VMS)
NAME: Final = "tiny"
BOOT_S: Final = 900.0
LOOK_S: Final = 5.0
"""Who looks takes the node's CPU from the guest."""
# Has nothing that costs emulation more than it saves: no strings of bytes, no wide registers, no wide exchange.
_MODEL: Final = "Opteron_G1"
# What is put into the background wants /dev/null.
_SHELL: Final = (
    'rdinit=/bin/busybox -- sh -c "/bin/busybox mount -t devtmpfs dev /dev; /init & exec /bin/busybox sh"'
)
_SAID: Final = re.compile(r"vm-guest: up ([\d.]+) s, cpus (\d+), memory (\d+) kB")


class Said(NamedTuple):
    """A line of the guest: since when it is up, and what it has."""

    up_s: float
    cpus: int
    memory_kib: int


def tiny() -> Object:
    """As small as it goes; the limit makes the kernel hold what the pod's size says."""
    container = {"image": vmguest.NAME, "kernelPath": vmguest.KERNEL, "initrdPath": vmguest.INITRD}
    boot = {"kernelArgs": f"{vmguest.KERNEL_ARGS} {_SHELL}", "container": container}
    domain = {
        "cpu": {"vcpus": 1, "maxSockets": 2, "model": _MODEL},
        "memory": {"guest": "256Mi", "minGuest": "256Mi", "maxGuest": "512Mi"},
        "resources": {"requests": {"memory": "256Mi"}, "limits": {"memory": "256Mi"}},
        "firmware": {"kernelBoot": boot},
        "devices": {"disks": [{"name": "greeting", "disk": {"bus": "virtio", "readonly": True}}]},
    }
    volumes = [{"name": "greeting", "containerDisk": {"image": vmguest.NAME}}]
    spec = {"domain": domain, "volumes": volumes, "terminationGracePeriodSeconds": 20}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": NAME},
        "spec": {"template": {"spec": spec}},
    }


async def launcher(hands: Hands) -> Object:
    """The pod in which the machine runs, as the FlexVM tells it."""
    found: dict[str, Any] = await hands.get(NAME, VMS)
    return await hands.get(found["status"]["pod"]["name"])


async def log(hands: Hands, pod: str) -> str:
    """What ``kubectl logs`` shows."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/log?container=compute&tailLines=400"
    return (await hands.api.read(path)).decode(errors="replace")


def said(text: str) -> list[Said]:
    """All that the guest has told in a log."""
    return [Said(float(up), int(cpus), int(kib)) for up, cpus, kib in _SAID.findall(text)]


async def says(hands: Hands, pod: str, cpus: int, memory_kib: int | None = None) -> str:
    """Wait until the guest says that it has so many CPUs, and KiB; all that it said."""

    async def look() -> str:
        text = await log(hands, pod)
        last = said(text)[-1:]
        is_so = last and last[0].cpus == cpus and memory_kib in {None, last[0].memory_kib}
        return text if is_so else ""

    text: str = await eventually(look, BOOT_S, look_s=LOOK_S)
    return text
