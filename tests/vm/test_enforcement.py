"""Size that does not exist cannot be used either: what a NodeSize enforces, in the kernel (balloon.md §6).

The files of the cgroup of all pods have one writer: while a machine grows and shrinks under an enforced size, the
smaller of both limits is in force.
"""

import pytest
from tests.vm.node import NAME, Hands, Node, container, eventually, runs
from tests.vm.plugging import KUBEPODS
from tests.vm.test_nodesize import SIZES, capacity, resize

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.ports.cluster import NODES

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1500)]
REFUSED = 3
FILES = ("cpu.max", "memory.high", "memory.max")
BUSY = "trap 'exit 0' TERM; while :; do :; done & while :; do :; done & wait"


async def held(hands: Hands) -> tuple[str, ...]:
    """What all pods together are held to."""
    return tuple((await hands.inside(f"cd {KUBEPODS} && cat {' '.join(FILES)}")).split("\n"))


async def until(hands: Hands, wanted: tuple[str, ...]) -> None:
    """Wait until the kernel has it."""

    async def found() -> bool:
        return await held(hands) == wanted

    try:
        await eventually(found)
    except TimeoutError:
        assert await held(hands) == wanted


async def throttled(hands: Hands) -> int:
    """How often pods together wanted more CPU than there is."""
    return int(await hands.inside(f"awk '$1 == \"nr_throttled\" {{ print $2 }}' {KUBEPODS}/cpu.stat"))


async def enforce(hands: Hands, mode: str) -> None:
    await hands.api.patch(SIZES, "", NAME, {"spec": {"enforce": mode}})


async def test_pods_are_held_to_a_size_that_a_balloon_leaves_and_let_go(node: Node, hands: Hands) -> None:
    """1.5 CPUs and 1Gi of a larger node; hardware alone makes it larger and smaller, and the limits follow."""
    before, (cpus, _) = await held(hands), await capacity(hands)
    allocatable = (await hands.get(NAME, NODES))["status"]["allocatable"]["memory"]
    memory = str(GIB + int(before[2]) - Quantity.parse(allocatable).value)
    assert before[:2] == ("max 100000", "max")
    busy = await hands.start("busy", container(script=BUSY, resources={"requests": {"cpu": "500m"}}))
    hardware = ("--via", "Hardware", "--qmp", str(node.vm.directory.file("qmp.sock")))
    try:
        code, said = await resize(node, "--cpu", "1500m", "--memory", "1Gi")
        assert code == 0, said
        await enforce(hands, "CpuAndMemory")
        await until(hands, ("150000 100000", memory, memory))
        count = await throttled(hands)
        await eventually(lambda: _more(hands, count))

        code, said = await resize(node, "--cpu", str(cpus + 1), *hardware)
        assert code == 0, said
        assert (await capacity(hands))[0] == cpus + 1
        # All but the floor of the balloon, which is a thousandth of a CPU.
        await until(hands, (f"{(cpus + 1) * 100_000 - 100} 100000", memory, memory))
        # The CPU goes; memory that the machine was started with cannot, and with hardware alone that is a refusal.
        code, said = await resize(node, "--cpu", str(cpus), *hardware)
        assert (code, (await capacity(hands))[0]) == (REFUSED, cpus), said
        assert said.rstrip().endswith("the balloon is the downsizing")

        await enforce(hands, "None")
        await until(hands, before)
        assert runs(await hands.get("busy")) == runs(busy)
    finally:
        await hands.api.delete(SIZES, "", NAME)
        await hands.delete("busy")
    await hands.until("the balloon is gone", NAME, lambda found: not found["spec"].get("taints"), NODES)


async def _more(hands: Hands, than: int) -> bool:
    return await throttled(hands) > than
