"""What the guest sees of its machine, and bringing online what was plugged.

Linux shows a new CPU as present and leaves it offline; a node agent brings it online, and so does whoever plugs
it here. New memory comes online by itself, in its own time.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import KIB
from flexlet.errors import HypervisorError
from flexlet.ports.guest import Guest

LOOK_S: Final = 0.5
_LOOK: Final = "cd /sys/devices/system/cpu; cat present online; awk '/^MemTotal/ { print $2 }' /proc/meminfo"
_ONLINE: Final = "for cpu; do echo 1 > /sys/devices/system/cpu/cpu$cpu/online || exit; done"


class Inside(msgspec.Struct, frozen=True):
    """The CPUs and the memory that the guest's kernel counts."""

    present: CpuSet
    online: CpuSet
    memory: int


def parse(text: str) -> Inside:
    """What `look` reads."""
    present, online, memory = text.split("\n")[:3]
    return Inside(CpuSet.parse(present), CpuSet.parse(online), int(memory) * KIB)


async def look(guest: Guest) -> Inside:
    """What the guest counts now."""
    done = await guest.run(["sh", "-c", _LOOK])
    try:
        return parse(done.stdout.decode())
    except ValueError as error:
        complaint = done.stderr.decode(errors="replace").strip()
        raise HypervisorError(f"cannot read CPUs and memory in the guest: {complaint}") from error


async def follow(guest: Guest, before: Inside, cpus: int, memory: int, patience_s: float) -> None:
    """Wait until the guest has noticed so many more CPUs and bytes, and bring the CPUs online.

    A guest that does not notice in time is no failure here: the machine has them; what the guest sees is shown.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            seen = await _until(guest, lambda seen: len(seen.present) >= len(before.present) + cpus)
            await _bring_online(guest, seen.present - before.online)
            await _until(guest, lambda seen: seen.memory >= before.memory + memory)


async def _until(guest: Guest, enough: Callable[[Inside], bool]) -> Inside:
    while True:
        seen = await look(guest)
        if enough(seen):
            return seen
        await asyncio.sleep(LOOK_S)


async def _bring_online(guest: Guest, cpus: CpuSet) -> None:
    if not cpus:
        return
    done = await guest.run(["sh", "-c", _ONLINE, "sh", *map(str, cpus)])
    if done.exit_code:
        complaint = done.stderr.decode(errors="replace").strip()
        raise HypervisorError(f"cannot bring CPUs {cpus} online in the guest: {complaint}")
