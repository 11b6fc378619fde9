"""A device of the node is attached after memory was locked for it; no hardware is needed to see that."""

import resource
import subprocess
from pathlib import Path

import pytest

from flexlet.adapters.launcher.devices import Devices, raise_memlock
from flexlet.adapters.qemu.monitor import Monitor, Refusal
from flexlet.core.vm.guest import AS_IT_IS, AttachDevice

ORDER = AttachDevice("gpu0", "0000:65:00.0", 5 << 30)


class Recorded(Monitor):
    """Writes down what it is asked; ports that are taken refuse."""

    def __init__(self, deeds: list[object], taken: int) -> None:
        super().__init__(Path("/nowhere"))
        self._deeds = deeds
        self._taken = taken

    async def execute(self, command: str, arguments: dict[str, object] | None = None) -> object:
        assert arguments
        self._deeds.append((command, arguments["driver"], arguments["host"], arguments["bus"]))
        if int(str(arguments["bus"])[-1]) < self._taken:
            raise Refusal(
                command, "GenericError", "PCI: slot 0 function 0 not available for vfio-pci, in use by x"
            )
        return {}


async def attached(taken: int, order: AttachDevice = ORDER) -> list[object]:
    deeds: list[object] = []
    devices = Devices(Recorded(deeds, taken), 42, lambda pid, limit: deeds.append((pid, limit)))
    await devices.attach(order)
    return deeds


async def test_memory_is_locked_before_the_device_comes() -> None:
    assert await attached(0) == [(42, 5 << 30), ("device_add", "vfio-pci", "0000:65:00.0", "plug0")]


async def test_a_limit_stays_as_it_is_for_devices_that_lock_nothing() -> None:
    (only,) = await attached(0, AttachDevice("gpu0", "0000:65:00.0", AS_IT_IS))
    assert only == ("device_add", "vfio-pci", "0000:65:00.0", "plug0")


async def test_the_first_free_port_is_taken() -> None:
    assert (await attached(2))[-1] == ("device_add", "vfio-pci", "0000:65:00.0", "plug2")


async def test_no_port_is_left() -> None:
    with pytest.raises(Refusal, match="in use"):
        await attached(4)


def test_the_limit_is_that_of_the_process() -> None:
    """Lowered and not raised, which everybody may do."""
    with subprocess.Popen(["sleep", "60"]) as child:
        raise_memlock(child.pid, 4096)
        assert resource.prlimit(child.pid, resource.RLIMIT_MEMLOCK) == (4096, 4096)
        child.kill()
