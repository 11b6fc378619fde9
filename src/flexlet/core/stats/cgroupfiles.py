"""The files of a cgroup v2 as values.

Kernel documentation: admin-guide/cgroup-v2 and accounting/psi. A file that is missing or empty is unknown, and so
is a line that cannot be read; a kernel may lack any of them.
"""

from typing import Final

import msgspec

LEAN_FILES: Final = (
    "cpu.stat",
    "memory.current",
    "memory.max",
    "memory.stat",
    "memory.swap.current",
    "memory.swap.max",
)
"""What ``/metrics/resource`` is made of, which somebody asks for every few seconds."""

USAGE_FILES: Final = (*LEAN_FILES, "cpu.pressure", "memory.pressure", "io.pressure")
"""What ``/stats/summary`` is made of."""

DETAIL_FILES: Final = (
    *USAGE_FILES,
    "memory.peak",
    "memory.events",
    "memory.min",
    "cpu.max",
    "cpu.weight",
    "io.stat",
    "pids.current",
    "pids.max",
)
"""What ``/metrics/cadvisor`` needs besides."""


class PressureData(msgspec.Struct, frozen=True):
    """How long tasks stood still: microseconds in all, and per cent of the last 10, 60 and 300 seconds."""

    total: int = 0
    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0


class Pressure(msgspec.Struct, frozen=True):
    """All tasks at once (`full`) or at least one (`some`)."""

    full: PressureData = PressureData()
    some: PressureData = PressureData()


class DeviceIo(msgspec.Struct, frozen=True):
    """What a cgroup read from and wrote to one block device."""

    device: str
    """``major:minor``."""
    read_bytes: int = 0
    written_bytes: int = 0
    reads: int = 0
    writes: int = 0


def flat_keyed(text: str) -> dict[str, int]:
    """``usage_usec 123`` lines."""
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if value.isdecimal():
            found[key] = int(value)
    return found


def amount(text: str | None) -> int | None:
    """A number; None for ``max`` and for a file that is not there."""
    return int(text) if text is not None and text.strip().isdecimal() else None


def pressure(text: str | None) -> Pressure | None:
    """``some avg10=0.00 avg60=0.00 avg300=0.00 total=0`` and ``full ...``."""
    lines = {line.split()[0]: line.split()[1:] for line in (text or "").splitlines() if line.strip()}
    if not lines:
        return None
    return Pressure(**{kind: _pressure_data(lines[kind]) for kind in ("full", "some") if kind in lines})


def _pressure_data(words: list[str]) -> PressureData:
    values = dict(word.split("=", 1) for word in words if "=" in word)
    averages = {key: float(values[key]) for key in ("avg10", "avg60", "avg300") if key in values}
    return PressureData(total=int(values.get("total", 0)), **averages)


def devices(text: str | None) -> tuple[DeviceIo, ...]:
    """``8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`` lines."""
    found = []
    for line in (text or "").splitlines():
        device, *words = line.split()
        counts = dict(word.split("=", 1) for word in words if "=" in word)
        names = ("rbytes", "wbytes", "rios", "wios")
        if any(name in counts for name in names):
            found.append(DeviceIo(device, *(int(counts.get(name, 0)) for name in names)))
    return tuple(found)
