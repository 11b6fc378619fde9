"""The same virtual machine made bigger in place and by live migration, by the same launchers, in one run.

From 1 vCPU and 512Mi to 2 vCPUs and 1Gi, with memory that has something in it. In place: one order. By migration,
as it is done where a pod cannot change its size: a second launcher starts, plain QEMU sends the machine to it,
and is plugged there. Both end when the guest itself counts the new size. The guest prints a dot every 10 ms; the
largest pause between two of them is what those who use it feel, and is seen from outside, because a guest's own
clock stands still with it. Nothing here goes through a network or a cluster: a new pod and a real network come on
top of the migration. Without KVM the machine is emulated: compare the figures of one run with each other.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from flexlet.adapters import image
from flexlet.api.units import GIB, KIB, MIB
from flexlet.core.vm.guest import Listen, Machine, MigrateTo, PowerDown, SetSize
from flexlet.testing import smallguest
from flexlet.testing.launching import Launched, launched

Figure = tuple[str, float, str]

FILLED_MIB: Final = 200
SMALL: Final = (1, 512 * MIB)
BIG: Final = (2, GIB)
_QUIET_S: Final = 5.0
_KERNELS_OWN: Final = 128 * MIB
_SAMPLE_S: Final = 0.05


class Way(msgspec.Struct):
    """What one way to the new size took."""

    seconds: float
    copied: int
    pause_ms: float
    peak: int
    migration_ms: int = 0
    downtime_ms: int = 0


class Peak:
    """The most memory that some QEMUs had together."""

    def __init__(self, *machines: Launched) -> None:
        self.machines = list(machines)
        self.highest = 0

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            self.highest = max(self.highest, sum(_resident(machine) for machine in self.machines))
            await asyncio.sleep(_SAMPLE_S)


def run() -> list[Figure]:
    """Both ways, and how many times the one is the other."""
    if lacking := image.missing_tools():
        print(f"  skipped: needs the Debian packages {', '.join(lacking)}", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        guest = smallguest.build(Path(folder), lambda text: print(f"  {text}", file=sys.stderr))
        still, in_place, by_migration = asyncio.run(_measured(Path(folder), guest.machine("source", "ticks=1")))
    return figures(still, in_place, by_migration)


def figures(still_ms: float, in_place: Way, by_migration: Way) -> list[Figure]:
    """One row for each thing that matters to somebody."""
    return [
        ("order to guest sees it, in place", in_place.seconds, "s"),
        ("order to guest sees it, by migration", by_migration.seconds, "s"),
        ("of which the migration itself", by_migration.migration_ms / 1000, "s"),
        ("in place is quicker by", by_migration.seconds / in_place.seconds, "x"),
        ("bytes copied, in place", in_place.copied / MIB, "MiB"),
        ("bytes copied, by migration", by_migration.copied / MIB, "MiB"),
        ("largest pause of a 10 ms ticker, left alone", still_ms, "ms"),
        ("largest pause of a 10 ms ticker, in place", in_place.pause_ms, "ms"),
        ("largest pause of a 10 ms ticker, by migration", by_migration.pause_ms, "ms"),
        ("downtime that QEMU tells of the migration", by_migration.downtime_ms, "ms"),
        ("peak memory of QEMU, in place", in_place.peak / MIB, "MiB"),
        ("peak memory of both QEMUs, by migration", by_migration.peak / MIB, "MiB"),
    ]


async def _measured(folder: Path, machine: Machine) -> tuple[float, Way, Way]:
    async with launched(folder, machine) as source:
        await source.says("guest: cpus")
        await source.type(f"fill {FILLED_MIB}")
        await source.says("guest: filled")
        begin = _now()
        await asyncio.sleep(_QUIET_S)
        still = pause_ms(source.pieces, begin, _now())
        in_place = await _in_place(source)
        await source.order(SetSize("back", *SMALL))
        await source.settled("back")
        left = source.report.memory
        arriving = msgspec.structs.replace(machine, name="target", incoming=True, memory=left)
        return still, in_place, await _by_migration(folder, source, arriving)


async def _in_place(source: Launched) -> Way:
    peak, begin, written = Peak(source), _now(), len(source.console)
    watching = asyncio.create_task(peak.watch())
    await source.order(SetSize("in-place", *BIG))
    await _sees(source, written)
    end = _now()
    watching.cancel()
    return Way(end - begin, source.report.move.transferred, pause_ms(source.pieces, begin, end), peak.highest)


async def _by_migration(folder: Path, source: Launched, arriving: Machine) -> Way:
    peak, begin = Peak(source), _now()
    watching = asyncio.create_task(peak.watch())
    address = f"unix:{folder}/move.sock"
    async with launched(folder, arriving) as target:
        await target.until(lambda report: report.run_state == "Incoming")
        peak.machines.append(target)
        await target.order(Listen(address))
        await target.until(lambda report: report.message)
        await source.order(MigrateTo(address))
        moved = (await source.until(lambda report: report.move.state not in {"", "Active"})).move
        assert moved.state == "Completed", moved
        await target.until(lambda report: report.run_state == "Running")
        await target.order(SetSize("there", *BIG))
        await _sees(target, 0)
        end = _now()
        watching.cancel()
        pieces = sorted(source.pieces + target.pieces)
        await source.order(PowerDown())
        await source.ended()
    pause = pause_ms(pieces, begin, end)
    return Way(end - begin, moved.transferred, pause, peak.highest, moved.total_ms, moved.downtime_ms)


def pause_ms(pieces: list[tuple[float, str]], begin: float, end: float) -> float:
    """The longest time without a dot."""
    dots = [begin, *(moment for moment, text in pieces if begin <= moment <= end and "." in text), end]
    return max(after - before for before, after in pairwise(dots)) * 1000


async def _sees(machine: Launched, written: int) -> None:
    cpus, memory = BIG

    def has(_: object) -> bool:
        counts = list(_counts(machine.console[written:]))
        return bool(counts) and counts[-1][0] == cpus and counts[-1][1] >= memory - _KERNELS_OWN

    await machine.until(has)


def _counts(text: str) -> Iterator[tuple[int, int]]:
    for cpus, total in re.findall(r"guest: cpus (\d+) memory (\d+)\r?\n", text):
        yield int(cpus), int(total) * KIB


def _resident(machine: Launched) -> int:
    """Memory of its QEMU."""
    try:
        pid = machine.run.pidfile.read_text().strip()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) * KIB if found else 0


def _now() -> float:
    return asyncio.get_running_loop().time()
