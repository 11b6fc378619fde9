"""A machine that grows and shrinks under its node: plugged through its hypervisor, seen by the kernel and the API.

Nobody tells the node: CPUs are plugged and left offline, as a hypervisor does it. What must follow from a size is
computed here from what the guest's kernel counts, by the formulas of the kubelet.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import msgspec
from tests.vm.machine import Vm
from tests.vm.node import NAME, Hands, Object, cgroup, eventually

from flexlet.adapters.clock import SystemClock
from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, KIB, MIB
from flexlet.apps import vmnode
from flexlet.engine.lab import sizing
from flexlet.engine.lab.sizing import Change, Deed, Wish
from flexlet.ports.cluster import NODES

CONFIG: Final = "/etc/flexlet/config.yaml"
KUBEPODS: Final = "/sys/fs/cgroup/kubepods"
MORE: Final = Wish(cpus=2, memory=GIB)
SWAP: Final = "/root/swap"
EVICTION: Final = 50 * MIB
_PAGE: Final = 4096
_END_AGENT: Final = "kill $(cat /sys/fs/cgroup/system/agent/cgroup.procs)"
_LOOK: Final = "cat /sys/devices/system/cpu/online; awk '/^(Mem|Swap)Total/ { print $2 }' /proc/meminfo"


class Kernel(msgspec.Struct, frozen=True):
    """What the guest's kernel counts."""

    online: CpuSet
    memory: int
    swap: int

    def oom_score(self, request: int) -> int:
        """Of a Burstable container with such a request of memory."""
        return min(max(1000 - 1000 * request // self.memory, 3), 999)

    def swap_limit(self, request: int) -> int:
        """``memory.swap.max`` of the same; the kernel counts whole pages."""
        return int(request / self.memory * self.swap) // _PAGE * _PAGE


class Size(msgspec.Struct, frozen=True):
    """The node's size as the API and the cgroup of all pods show it."""

    cpus: str
    memory: str
    for_pods: tuple[str, str]
    cpuset: str
    limit: str


async def look(hands: Hands) -> Kernel:
    """What the kernel counts now."""
    online, memory, swap = (await hands.inside(_LOOK)).split("\n")
    return Kernel(CpuSet.parse(online), int(memory) * KIB, int(swap) * KIB)


def follows(kernel: Kernel) -> Size:
    """The size of a node that follows its machine, with the reserves of the lab."""
    cpus = str(len(kernel.online))
    free = f"{(kernel.memory - EVICTION) // KIB}Ki"
    return Size(cpus, f"{kernel.memory // KIB}Ki", (cpus, free), str(kernel.online), str(kernel.memory))


async def shown(hands: Hands) -> Size:
    """What API and cgroup show now."""
    status = (await hands.get(NAME, NODES))["status"]
    cpuset, limit = (await hands.inside(f"cd {KUBEPODS} && cat cpuset.cpus memory.max")).split("\n")
    capacity, free = status["capacity"], status["allocatable"]
    return Size(capacity["cpu"], capacity["memory"], (free["cpu"], free["memory"]), cpuset, limit)


async def change(vm: Vm, deed: Deed, wish: Wish) -> None:
    """Plug or unplug; all of it, for a guest that keeps something has a reason worth knowing."""
    async with vm.hypervisor() as hypervisor:
        done = await deed(hypervisor, None, wish)
    assert isinstance(done, Change), done
    assert done.refusal is None, done.refusal


async def grown(hands: Hands, vm: Vm, wish: Wish = MORE) -> Kernel:
    """Plug, and wait until kernel and node have it."""
    return await _sized(hands, vm, wish, 1)


async def shrunk(hands: Hands, vm: Vm, wish: Wish = MORE) -> Kernel:
    """Unplug, and wait until kernel and node have it."""
    return await _sized(hands, vm, wish, -1)


async def _sized(hands: Hands, vm: Vm, wish: Wish, sign: int) -> Kernel:
    before = await look(hands)
    await change(vm, sizing.plug if sign > 0 else sizing.unplug, wish)
    wanted = len(before.online) + sign * wish.cpus, before.memory + sign * wish.memory

    async def there() -> Kernel | None:
        now = await look(hands)
        return now if (len(now.online), now.memory) == wanted else None

    kernel: Kernel = await eventually(there)
    await reported(hands, kernel)
    return kernel


async def reported(hands: Hands, kernel: Kernel) -> None:
    """Wait until the Node shows what the kernel counts, and is at rest."""
    wanted = str(len(kernel.online)), f"{kernel.memory // KIB}Ki"

    def holds(node: Object) -> bool:
        capacity = node["status"]["capacity"]
        return (capacity["cpu"], capacity["memory"]) == wanted and resizing(node) == ("False", "Stable")

    await hands.until("it follows its machine", NAME, holds, NODES)


def resizing(node: Object) -> tuple[str, str]:
    """Status and reason of the condition NodeResize."""
    found = [each for each in node["status"]["conditions"] if each["type"] == "NodeResize"]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


@contextlib.asynccontextmanager
async def configured(hands: Hands, more: dict[str, Any]) -> AsyncIterator[None]:
    """The agent started anew with more configuration, and as before afterwards."""
    before = await hands.guest.read_file(CONFIG)
    await _restarted(hands, json.dumps({**json.loads(before), **more}).encode())
    try:
        yield
    finally:
        await _restarted(hands, before)


async def _restarted(hands: Hands, config: bytes) -> None:
    await hands.guest.write_file(CONFIG, config, 0o600)
    await hands.inside(_END_AGENT)
    await vmnode.ready(hands.api, NAME, SystemClock())


@contextlib.asynccontextmanager
async def swapping(hands: Hands, size: int) -> AsyncIterator[None]:
    """A file that the guest swaps to."""
    await hands.inside(f"fallocate -l {size} {SWAP} && mkswap {SWAP}")
    await hands.inside(f"chmod 600 {SWAP} && swapon {SWAP}")
    try:
        yield
    finally:
        await hands.inside(f"grep -q {SWAP} /proc/swaps && swapoff {SWAP}; rm {SWAP}")


async def scores(hands: Hands, pod: Object, container: str) -> set[int]:
    """The oom scores of all processes of a container."""
    script = f"for p in $(cat {cgroup(pod, container)}/cgroup.procs); do cat /proc/$p/oom_score_adj; done"
    return {int(score) for score in (await hands.inside(script)).split()}


async def file(hands: Hands, pod: Object, container: str, name: str) -> str:
    """A file of a container's cgroup."""
    return await hands.inside(f"cat {cgroup(pod, container)}/{name}")


async def becomes(look: Callable[[], Awaitable[Any]], wanted: Any) -> None:
    """Wait until what is seen is what is wanted; the difference, if it never is."""

    async def equal() -> bool:
        return bool(await look() == wanted)

    with contextlib.suppress(TimeoutError):
        await eventually(equal)
    assert await look() == wanted
