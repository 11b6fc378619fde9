"""Devices of the node that are handed to a guest while it runs: the pod comes first, as always.

A device reaches all of the guest's memory, so its pod needs a GiB more (vm-resize.md §7) before the launcher locks
that memory and plugs it. Only devices that are named by their PCI address can be handed over later; those of a
device plugin come with the pod.
"""

import re
from collections.abc import Collection
from typing import Final

from flexlet.core.vm.guest import AttachDevice
from flexlet.core.vm.memlock import lock_limit
from flexlet.core.vm.objects import FlexVM, HostDevice
from flexlet.core.vm.scene import Scene

_ADDRESS: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)


def next_order(scene: Scene, attached: Collection[str]) -> AttachDevice | None:
    """The first device that the guest was not told of on this line; telling it again changes nothing."""
    pod = scene.pod
    if pod is None or scene.report is None or scene.is_moving or not pod.grants(scene.need(scene.reach)):
        return None
    for device in of(scene.vm):
        if device.name not in attached and _ADDRESS.fullmatch(device.device_name):
            return AttachDevice(device.name, device.device_name, lock_limit(scene.wanted))
    return None


def of(vm: FlexVM) -> tuple[HostDevice, ...]:
    """All devices of the node that a machine is to have."""
    found = vm.spec.template.spec.domain.devices
    return (*found.gpus, *found.host_devices)
