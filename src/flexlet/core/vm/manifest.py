"""The launcher pod of a virtual machine.

Its name is always the same, so that no machine is ever started twice by a controller that has not seen yet what it
did: the second create is refused. It is restarted by nobody, and may be resized without a restart.
"""

import hashlib
from typing import Any, Final

import msgspec

from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm import mounts, names
from flexlet.core.vm.guest import Machine
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.podsize import Need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import Wanted

Object = dict[str, Any]

GRACE_S: Final = 30
_SPARE_S: Final = 15
"""What a launcher may need beyond the guest's own grace period to end QEMU and itself."""
_LONGEST: Final = 63
COMMAND: Final = ("flexlet", "vm-launcher", "run")
MACHINE_ENV: Final = "FLEXLET_VM_MACHINE"


def name_of(vm: str, suffix: str = "") -> str:
    """The name of a machine's launcher; that of a migration's target has a suffix. Long ones are hashed."""
    name = f"virt-launcher-{vm}{'-' + suffix if suffix else ''}"
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{name[: _LONGEST - 11].rstrip('-.')}-{digest}"


def launcher_pod(
    vm: FlexVM,
    wanted: Wanted,
    machine: Machine,
    need: Need,
    settings: Settings,
    *,
    overhead: int = 0,
    suffix: str = "",
    labels: dict[str, str] | None = None,
) -> Object:
    """The pod that starts a machine; `suffix` and `labels` make it another one, for a migration."""
    del wanted
    template = vm.spec.template
    text = msgspec.json.encode(machine).decode()
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name_of(vm.metadata.name, suffix),
            "namespace": vm.metadata.namespace,
            "labels": {
                **template.metadata.labels,
                names.LABEL: vm.metadata.name,
                names.CREATED_BY: vm.metadata.uid,
                **(labels or {}),
            },
            "annotations": {
                **template.metadata.annotations,
                names.MACHINE: text,
                names.OVERHEAD: str(overhead),
            },
            "ownerReferences": [_owner(vm)],
        },
        "spec": _spec(vm, text, need, settings),
    }


def resize_patch(need: Need, *, resource_version: str, uid: str) -> Object:
    """The body of a PATCH of ``pods/NAME/resize``; refused if the pod has changed since it was seen."""
    container = {"name": names.CONTAINER, "resources": resources(need, pages=False)}
    return {
        "metadata": {"resourceVersion": resource_version, "uid": uid},
        "spec": {"containers": [container]},
    }


def resources(need: Need, *, pages: bool = True) -> Object:
    """Requests and limits of the container; huge pages can only be named when it is made."""
    huge = {name: str(Quantity.of_bytes(size)) for name, size in need.hugepages.items()} if pages else {}
    requests = {**_listed(need.cpu_m, need.memory), **huge}
    limits = {**_listed(need.cpu_limit_m, need.memory_limit), **huge}
    return {"requests": requests, **({"limits": limits} if limits else {})}


def _listed(cpu_m: int | None, memory: int | None) -> Object:
    cpu = {} if cpu_m is None else {CPU: str(Quantity.of_milli(cpu_m))}
    return cpu | ({} if memory is None else {MEMORY: str(Quantity.of_bytes(memory))})


def _owner(vm: FlexVM) -> Object:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "name": vm.metadata.name,
        "uid": vm.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _spec(vm: FlexVM, machine: str, need: Need, settings: Settings) -> Object:
    spec = vm.spec.template.spec
    found = mounts.of(spec, settings.image)
    grace = GRACE_S if spec.termination_grace_period_seconds is None else spec.termination_grace_period_seconds
    optional = {"nodeSelector": spec.node_selector, "priorityClassName": spec.priority_class_name}
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": grace + _SPARE_S,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **{key: value for key, value in optional.items() if value},
        **({"initContainers": found.copies} if found.copies else {}),
        "containers": [_compute(machine, need, settings, found)],
        "volumes": found.volumes,
    }


def _compute(machine: str, need: Need, settings: Settings, found: mounts.Mounts) -> Object:
    return {
        "name": names.CONTAINER,
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        "env": [{"name": MACHINE_ENV, "value": machine}],
        "resources": resources(need),
        "resizePolicy": [{"resourceName": resource, "restartPolicy": "NotRequired"} for resource in (CPU, MEMORY)],
        "volumeMounts": found.mounts,
    }
