"""What every `flexlet.ports.cgroups.CgroupTree` does."""

from typing import Final, Protocol

from flexlet.errors import HostError, HostUnsupported
from flexlet.ports.cgroups import CgroupTree
from flexlet.testing.checks import Broken, Check, Skipped, expect, expect_fault

MIB: Final = 1 << 20


class CgroupBench(Protocol):
    """A tree to work on, below a path that nobody else uses, and a way to fill it with processes."""

    @property
    def tree(self) -> CgroupTree:
        """What is checked."""
        ...

    @property
    def path(self) -> str:
        """Everything happens below this."""
        ...

    def at(self, *names: str) -> str:
        """The path of a cgroup below it, spelled as this tree spells its paths."""
        ...

    async def start_process(self, path: str, memory: int = 0) -> int:
        """Start a process in a cgroup that sleeps and uses so much memory; its pid."""
        ...

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...


async def cgroups_come_and_go(bench: CgroupBench) -> None:
    """Making and removing may be repeated; parents are made on the way, and children go with their parent."""
    tree, path = bench.tree, bench.at("come")
    a, b, below = bench.at("come", "a"), bench.at("come", "b"), bench.at("come", "b", "c")
    expect(await tree.exists(path), False)
    await tree.create(below)
    await tree.create(below)
    await tree.create(a)
    expect(await tree.exists(below), True)
    expect(await tree.children(path), (a.rpartition("/")[2], b.rpartition("/")[2]))
    await tree.remove(path)
    expect(await tree.exists(path), False)
    await tree.remove(path)


async def nothing_is_found_where_nothing_is(bench: CgroupBench) -> None:
    """Looking at a cgroup that is not there is no error, writing to it is."""
    tree, path = bench.tree, bench.at("nothing")
    expect(await tree.read(path, ("memory.max",)), {})
    expect(await tree.children(path), ())
    expect(await tree.processes(path), ())
    message = await expect_fault(HostError, tree.write(path, {"cpu.weight": "1"}))
    expect(message.endswith(f"{path}/cpu.weight: the cgroup is gone"), True, message)


async def controllers_are_handed_down(bench: CgroupBench) -> None:
    """A cgroup far below has what the root has, or no limit would be kept there."""
    path = bench.at("controllers", "a", "b")
    await bench.tree.create(path)
    there = await bench.tree.read(path, ("cgroup.controllers",))
    root = await bench.tree.read("", ("cgroup.controllers",))
    missing = {"cpu", "memory", "pids"} & set(root["cgroup.controllers"].split())
    expect(missing - set(there["cgroup.controllers"].split()), set())


async def a_new_cgroup_has_no_limits(bench: CgroupBench) -> None:
    """What nobody has written is the kernel's default."""
    path = await _made(bench, "new")
    files = ("cpu.weight", "cpu.max", "memory.max", "memory.min", "memory.low", "memory.high", "memory.oom.group")
    defaults = ("100", "max 100000", "max", "0", "0", "max", "0")
    expect(await bench.tree.read(path, files), dict(zip(files, defaults, strict=True)))


async def values_are_read_back(bench: CgroupBench) -> None:
    """What is written is there, memory in whole pages."""
    path = await _made(bench, "values")
    await bench.tree.write(path, {"cpu.weight": "39", "cpu.max": "20000 50000", "memory.max": "100000000"})
    expect(
        await bench.tree.read(path, ("cpu.weight", "cpu.max", "memory.max", "no.such")),
        {"cpu.weight": "39", "cpu.max": "20000 50000", "memory.max": "99999744"},
    )
    await bench.tree.write(path, {"cpu.max": "max 100000", "memory.max": "max"})
    expect(await bench.tree.read(path, ("cpu.max", "memory.max")), {"cpu.max": "max 100000", "memory.max": "max"})


async def what_systemd_would_reset_is_kept(bench: CgroupBench) -> None:
    """The kernel keeps a period that nobody names, and a group that is killed together; systemd does not."""
    path = await _made(bench, "kept")
    await bench.tree.write(path, {"cpu.max": "20000 50000", "memory.max": "100000000", "memory.oom.group": "1"})
    expect(
        await bench.tree.read(path, ("cpu.max", "memory.max", "memory.oom.group")),
        {"cpu.max": "20000 50000", "memory.max": "99999744", "memory.oom.group": "1"},
    )
    await bench.tree.write(path, {"cpu.max": "max", "memory.max": "max"})
    expect(await bench.tree.read(path, ("cpu.max", "memory.max")), {"cpu.max": "max 50000", "memory.max": "max"})


async def bad_values_are_refused(bench: CgroupBench) -> None:
    """The refusal names the file and the value; nothing is changed, and nothing after it is written."""
    path = await _made(bench, "bad")
    bad = (
        ("cpu.weight", "0"),
        ("cpu.weight", "10001"),
        ("cpu.weight", "much"),
        ("cpu.max", "999 100000"),
        ("cpu.max", "10000 999"),
        ("cpu.max", "10000 1000001"),
        ("memory.max", "-1"),
        ("memory.max", "much"),
        ("memory.oom.group", "2"),
    )
    for name, value in bad:
        deed = bench.tree.write(path, {name: value, "memory.low": "4096"})
        message = await expect_fault(HostUnsupported, deed)
        expect(f'write "{value}" to ' in message and f"{path}/{name}: " in message, True, message)
    untouched = {"cpu.weight": "100", "memory.max": "max", "memory.low": "0"}
    expect(await bench.tree.read(path, tuple(untouched)), untouched)


async def unknown_files_are_refused_and_unknown_controllers_skipped(bench: CgroupBench) -> None:
    """A kernel without a controller still runs pods; a missing file of a controller it has is said aloud."""
    path = await _made(bench, "unknown")
    await bench.tree.write(path, {"nosuchcontroller.max": "1", "cpu.weight": "8"})
    expect(await bench.tree.read(path, ("cpu.weight",)), {"cpu.weight": "8"})
    message = await expect_fault(HostUnsupported, bench.tree.write(path, {"memory.nosuch": "1"}))
    expect(message.endswith("this kernel has no memory.nosuch"), True, message)


async def processes_are_seen_from_above(bench: CgroupBench) -> None:
    """A pod's processes are those of its containers."""
    path, a, b = bench.at("processes"), bench.at("processes", "a"), bench.at("processes", "b")
    await bench.tree.create(a)
    await bench.tree.create(b)
    pids = {await bench.start_process(a), await bench.start_process(b)}
    expect(set(await bench.tree.processes(path)), pids)
    expect(len(await bench.tree.processes(a)), 1)
    await bench.tree.remove(path)


async def removing_kills(bench: CgroupBench) -> None:
    """Whatever is left in a cgroup goes with it."""
    path, below = bench.at("killed"), bench.at("killed", "a")
    await bench.tree.create(below)
    await bench.start_process(below)
    await bench.tree.remove(path)
    expect(await bench.tree.exists(path), False)
    expect(await bench.tree.processes(bench.path), ())


async def a_limit_below_usage_is_kept_by_killing(bench: CgroupBench) -> None:
    """The kernel takes any limit and does what it needs to keep it; so whoever lowers one looks first."""
    path = await _made(bench, "oom")
    await bench.start_process(path, memory=64 * MIB)
    used = int((await bench.tree.read(path, ("memory.current",)))["memory.current"])
    if used < 64 * MIB:
        raise Broken(f"a process that uses 64 MiB is charged {used} bytes")
    await bench.tree.write(path, {"memory.max": str(16 * MIB)})
    for _ in range(100):
        if not await bench.tree.processes(path):
            break
        await bench.wait(0.1)
    expect(await bench.tree.processes(path), ())
    events = (await bench.tree.read(path, ("memory.events",)))["memory.events"].splitlines()
    expect("oom_kill 1" in events, True, f"one kill in {events}")


async def a_pin_stays_while_somebody_runs(bench: CgroupBench) -> None:
    """The kernel widens and narrows a pin at any time, and takes it away only where nobody runs."""
    path = await _made(bench, "pinned")
    if "cpuset.cpus" not in await bench.tree.read(path, ("cpuset.cpus",)):
        raise Skipped("needs the controller cpuset")
    await bench.tree.write(path, {"cpuset.cpus": "0"})
    await bench.tree.write(path, {"cpuset.cpus": "\n"})
    expect(await bench.tree.read(path, ("cpuset.cpus",)), {"cpuset.cpus": ""})
    await bench.tree.write(path, {"cpuset.cpus": "0"})
    await bench.start_process(path)
    await expect_fault(HostError, bench.tree.write(path, {"cpuset.cpus": "\n"}))
    expect(await bench.tree.read(path, ("cpuset.cpus",)), {"cpuset.cpus": "0"})
    await bench.tree.remove(path)


async def _made(bench: CgroupBench, name: str) -> str:
    """A cgroup with CPU and memory controllers."""
    path = bench.at(name)
    await bench.tree.create(path)
    controllers = (await bench.tree.read(path, ("cgroup.controllers",)))["cgroup.controllers"].split()
    if not {"cpu", "memory"} <= set(controllers):
        raise Skipped(f"needs the controllers cpu and memory, there are {controllers}")
    return path


UNIT_CHECKS: Final[tuple[Check[CgroupBench], ...]] = (
    cgroups_come_and_go,
    nothing_is_found_where_nothing_is,
    controllers_are_handed_down,
    a_new_cgroup_has_no_limits,
    values_are_read_back,
    bad_values_are_refused,
    unknown_files_are_refused_and_unknown_controllers_skipped,
    processes_are_seen_from_above,
    removing_kills,
    a_limit_below_usage_is_kept_by_killing,
    a_pin_stays_while_somebody_runs,
)
"""Of any tree, also where the cgroups are units of systemd."""

CHECKS: Final[tuple[Check[CgroupBench], ...]] = (*UNIT_CHECKS, what_systemd_would_reset_is_kept)
"""Of a tree that nobody but us writes to."""
