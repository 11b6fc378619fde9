"""The pretended hardware of a hollow node, and the Node object it makes."""

import functools
from typing import Any, Final

import msgspec

from flexlet.api import age, decode
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.machine.allocatable import Reservation, allocatable
from flexlet.core.machine.capacity import capacity
from flexlet.errors import InputError

HOLLOW_LABEL: Final = "flexlet.io/hollow"
"""``"true"`` on nodes that are simulated."""

MACHINE_ANNOTATION: Final = "hollow.flexlet.io/machine"
"""JSON of cpu and memory: what `flexlet lab plug` writes and the fleet obeys."""

DECLARED_FEATURES: Final = ("InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers")
"""What a hollow node can do; each is the name of the gate that switches it."""

CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "hollow node has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "hollow node has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "hollow node has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "hollow node is posting ready status"),
)
"""Type, status, reason and message of what a hollow node says of itself."""


class Machine(msgspec.Struct, frozen=True):
    """How big the pretended machine is."""

    cpus: int = 8
    memory: int = 32 * 1024**3
    max_pods: int = 110

    def capacity(self) -> ResourceList:
        """What the node reports as capacity."""
        return _sizes(self)[0]

    def allocatable(self) -> ResourceList:
        """What is left for pods: capacity less the usual eviction margin."""
        return _sizes(self)[1]


@functools.lru_cache(maxsize=1024)
def _sizes(machine: Machine) -> tuple[ResourceList, ResourceList]:
    """Capacity and allocatable; the nodes of a fleet are mostly alike."""
    whole = capacity(
        cpus=machine.cpus, memory=machine.memory, max_pods=machine.max_pods, ephemeral_storage=100 * 1024**3
    )
    return whole, allocatable(whole, Reservation())


def machine_of(annotations: dict[str, str], otherwise: Machine) -> Machine:
    """The size an operator asked for by annotation; unreadable text changes nothing."""
    text = annotations.get(MACHINE_ANNOTATION)
    if not text:
        return otherwise
    try:
        wish = decode.from_json(text, dict[str, Quantity])
    except InputError:
        return otherwise
    cpus = wish["cpu"].value if "cpu" in wish else otherwise.cpus
    memory = wish["memory"].value if "memory" in wish else otherwise.memory
    return Machine(max(cpus, 0), max(memory, 0), otherwise.max_pods)


def node_object(name: str, machine: Machine, version: str, features: list[str], now: float) -> dict[str, Any]:
    """The Node a hollow node registers itself with."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        HOLLOW_LABEL: "true",
    }
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            **size_status(machine),
            **_identity(name, version),
            "declaredFeatures": features,
            "conditions": conditions(now),
        },
    }


def size_status(machine: Machine) -> dict[str, Any]:
    """The part of the status that a plug changes."""
    return {
        "capacity": decode.to_value(machine.capacity()),
        "allocatable": decode.to_value(machine.allocatable()),
    }


def conditions(now: float) -> list[dict[str, str]]:
    """A healthy node's conditions, as of `now`."""
    stamp = age.format_seconds(now)
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": stamp,
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in CONDITIONS
    ]


def _identity(name: str, version: str) -> dict[str, Any]:
    return {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}],
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": "hollow",
            "osImage": "flexlet hollow node",
            "containerRuntimeVersion": f"hollow://{version}",
            "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def lease_object(name: str, node_uid: str, now: float) -> dict[str, Any]:
    """The Lease by which the node says that it lives."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner] if node_uid else []},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": age.format_micro(now)},
    }
