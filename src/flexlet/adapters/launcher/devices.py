"""Handing a device of the node to the guest.

The device reaches all of the guest's memory by itself, so that memory is locked first: the limit of QEMU's process
is raised before the device comes, or the attachment would fail half-way.
"""

import resource
from collections.abc import Callable

from flexlet.adapters.qemu.monitor import Monitor, Refusal
from flexlet.core.vm.bootline import PLUG_PORTS
from flexlet.core.vm.guest import AS_IT_IS, AttachDevice
from flexlet.errors import HostError

Raise = Callable[[int, int], None]


def raise_memlock(pid: int, limit: int) -> None:
    """Let a process lock that much memory (-1: any amount); HostError if we may not grant it."""
    wanted = resource.RLIM_INFINITY if limit < 0 else limit
    try:
        resource.prlimit(pid, resource.RLIMIT_MEMLOCK, (wanted, wanted))
    except (OSError, ValueError) as error:
        raise HostError(
            f"cannot let QEMU lock memory for a device ({error}): the pod lacks CAP_SYS_RESOURCE"
        ) from error


class Devices:
    """Devices of the node in one machine."""

    def __init__(self, monitor: Monitor, pid: int, raise_limit: Raise = raise_memlock) -> None:
        self._monitor = monitor
        self._pid = pid
        self._raise = raise_limit

    async def attach(self, order: AttachDevice) -> None:
        """Lock memory, then plug the device at the first free port; one that is there already stays as it is."""
        if order.memlock != AS_IT_IS:
            self._raise(self._pid, order.memlock)
        device = {"driver": "vfio-pci", "id": order.id, "host": order.pci_address}
        last: Refusal | None = None
        for number in range(PLUG_PORTS):
            try:
                await self._monitor.execute("device_add", {**device, "bus": f"plug{number}"})
            except Refusal as refusal:
                if "uplicate" in refusal.description:
                    return
                if "in use" not in refusal.description and "not available" not in refusal.description:
                    raise
                last = refusal
            else:
                return
        if last is not None:
            raise last
