"""What /proc and /sys say of a simulated machine."""

import functools
import re
from collections.abc import Iterator
from typing import Final

from flexlet.adapters.sim.hardware import BLOCK, Hardware
from flexlet.api.cpuset import CpuSet
from flexlet.core.machine import sources

_KIB: Final = 1024
_RULES: Final = {
    "cpu": 'SUBSYSTEM=="cpu", ACTION=="add", ATTR{online}=="0", ATTR{online}="1"\n',
    "memory": 'SUBSYSTEM=="memory", ACTION=="add", ATTR{state}=="offline", ATTR{state}="online"\n',
}


def texts(hardware: Hardware) -> Iterator[tuple[str, str]]:
    """All files by path."""
    yield from _fixed()
    yield from _memory(hardware)
    yield from _cpus(hardware)
    for (node, size), count in hardware.hugepages.items():
        place = f"{sources.NODE}/node{node}/hugepages/hugepages-{size // _KIB}kB"
        yield f"{place}/nr_hugepages", f"{count}\n"
        yield f"{place}/surplus_hugepages", f"{hardware.surplus.get((node, size), 0)}\n"
    for size in {size for _, size in hardware.hugepages}:
        place = f"{sources.HUGEPAGES}/hugepages-{size // _KIB}kB"
        yield f"{place}/nr_hugepages", f"{_of_size(hardware.hugepages, size)}\n"
        yield f"{place}/surplus_hugepages", f"{_of_size(hardware.surplus, size)}\n"
    for kind in hardware.udev:
        yield f"/usr/lib/udev/rules.d/40-{kind}.rules", _RULES[kind]


def pattern(paths: tuple[str, ...]) -> re.Pattern[str]:
    """Matches what any of the paths names; a star does not reach over a slash."""
    return _compiled(paths)


@functools.cache
def _compiled(paths: tuple[str, ...]) -> re.Pattern[str]:
    wild = (re.escape(path).replace(r"\*", "[^/]*").replace(r"\[0\-9\]", "[0-9]") for path in paths)
    return re.compile("|".join(wild))


def _memory(hardware: Hardware) -> Iterator[tuple[str, str]]:
    kib = 0 if hardware.is_unreadable else hardware.total // _KIB
    yield sources.MEMINFO, f"MemTotal: {kib} kB\nSwapTotal: {hardware.swap // _KIB} kB\n"
    yield sources.NODES_ONLINE, f"{CpuSet.of(hardware.nodes)}\n"
    for node, memory in hardware.nodes.items():
        yield f"{sources.NODE}/node{node}", ""
        yield f"{sources.NODE}/node{node}/meminfo", f"Node {node} MemTotal: {memory // _KIB} kB\n"
        distances = " ".join("10" if other == node else "20" for other in sorted(hardware.nodes))
        yield f"{sources.NODE}/node{node}/distance", f"{distances}\n"
    for block, state in hardware.blocks.items():
        yield f"{sources.MEMORY}/memory{block}/state", f"{state}\n"
        yield f"{sources.NODE}/node{hardware.block_homes.get(block, 0)}/memory{block}", ""
        yield f"{sources.MEMORY}/memory{block}/valid_zones", f"{_block_zones(hardware, block)}\n"
    yield sources.AUTO_ONLINE, f"{hardware.auto_online}\n"
    movable = len(hardware.movable) * BLOCK // _KIB
    yield sources.ZONES, _zone("Normal", hardware.total // _KIB - movable) + _zone("Movable", movable)
    yield sources.PID_MAX, "4194304\n"
    yield sources.THREADS_MAX, f"{hardware.pids}\n"


def _block_zones(hardware: Hardware, block: int) -> str:
    if hardware.blocks[block] != "online":
        return "Normal Movable"
    return "Movable" if block in hardware.movable else "Normal"


def _zone(name: str, managed: int) -> str:
    return f"Node 0, zone {name:>8}\n  pages free     1\n        managed  {managed}\n"


def _cpus(hardware: Hardware) -> Iterator[tuple[str, str]]:
    yield sources.CPUS_ONLINE, f"{CpuSet.of(hardware.awake)}\n"
    yield sources.CPUS_PRESENT, f"{CpuSet.of(hardware.present)}\n"
    for cpu in hardware.awake:
        yield f"{sources.NODE}/node{hardware.homes.get(cpu, 0)}/cpu{cpu}", ""
        if cpu not in hardware.settling:
            yield f"{sources.CPU}/cpu{cpu}/topology/physical_package_id", "0\n"
            yield f"{sources.CPU}/cpu{cpu}/topology/core_id", f"{cpu % (hardware.cores or cpu + 1)}\n"


def _fixed() -> Iterator[tuple[str, str]]:
    yield sources.CPUS_POSSIBLE, "0-63\n"
    yield sources.CONTROLLERS, "cpuset cpu io memory hugetlb pids\n"
    yield f"{sources.CGROUP}/kubepods/memory.swap.max", "max\n"
    yield sources.BLOCK_SIZE, f"{BLOCK:x}\n"
    yield sources.BOOT_ID, "5c0ee9a1-2b1e-4fb2-9d6b-7a3a6b5c1d11\n"
    yield sources.KERNEL, "6.1.0\n"
    yield sources.OS_RELEASE[0], 'PRETTY_NAME="Simulated Linux"\n'
    yield sources.MACHINE_ID[0], "d41d8cd98f00b204e9800998ecf8427e\n"


def _of_size(pages: dict[tuple[int, int], int], wanted: int) -> int:
    return sum(count for (_, size), count in pages.items() if size == wanted)
