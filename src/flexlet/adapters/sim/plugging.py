"""A simulated machine whose parts come and go as a story says, with everything the kernel would say and show.

It is read like a host (`read`), heard like a kernel (`events`, `changes`) and switched like one (`online`,
`offline`). Plugged parts send the events that a kernel sends, add before online. Memory that only becomes more or
less (`set_memory`: virtio-mem, a balloon) and huge pages send none, as in life.
"""

import errno
from collections.abc import Iterable, Sequence

from flexlet.adapters.sim import hostsysfs
from flexlet.adapters.sim.hardware import BLOCK, PAGE_SIZES
from flexlet.adapters.sim.switches import Switches
from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.parts import Part
from flexlet.core.machine.snapshot import Filesystem, Snapshot
from flexlet.errors import InputError
from flexlet.ports.uevents import Overrun, Uevent


class SimHardware(Switches):
    """HostReader, Uevents, Swaps and Parts of one machine, and the hands that plug it."""

    @property
    def cpus(self) -> str:
        """The CPUs that are online; setting them plugs and unplugs, all at once."""
        return str(CpuSet.of(self.awake))

    @cpus.setter
    def cpus(self, listed: str) -> None:
        wanted = set(CpuSet.parse(listed))
        self.unplug_cpus(self.present - wanted)
        for cpu in sorted(wanted - self.present):
            self._add_cpu(cpu)
        for cpu in sorted(wanted - self.awake):
            self.wake(cpu)

    @property
    def memory(self) -> int:
        """MemTotal; setting it is silent, as with a balloon."""
        return self.total

    @memory.setter
    def memory(self, size: int) -> None:
        self.set_memory(size)

    def plug_cpus(self, count: int | Iterable[int], node: int = 0) -> CpuSet:
        """So many more, or these; who brings them online is `udev`'s business."""
        ids = self._free(count) if isinstance(count, int) else sorted(count)
        for cpu in ids:
            self.homes[cpu] = node
            self._add_cpu(cpu)
            if "cpu" in self.udev:
                self.wake(cpu)
        return CpuSet.of(ids)

    def unplug_cpus(self, count: int | Iterable[int]) -> CpuSet:
        """So many of the highest, or these; CPU 0 stays."""
        ids = sorted(self.present)[-count:] if isinstance(count, int) else sorted(count)
        gone = [cpu for cpu in reversed(ids) if cpu in self.present and cpu != 0]
        for cpu in gone:
            self.sleep(cpu)
            self.present.discard(cpu)
            self.say("remove", Part("cpu", cpu))
        return CpuSet.of(gone)

    def settle(self, *cpus: int) -> None:
        """The kernel says where these CPUs sit; all of them if none is named."""
        self.settling -= set(cpus) or set(self.settling)

    def plug_memory(self, size: int, node: int = 0) -> tuple[int, ...]:
        """Blocks; they are online at once if the kernel or udev does that."""
        self._check_blocks(size)
        first = max(self.blocks, default=-1) + 1
        added = tuple(range(first, first + size // BLOCK))
        for block in added:
            self.blocks[block], self.block_homes[block] = "offline", node
            self.say("add", Part("memory", block))
            if self.auto_online != "offline" or "memory" in self.udev:
                self.fill(block, "online" if self.auto_online == "offline" else self.auto_online)
        return added

    def unplug_memory(self, size: int) -> tuple[int, ...]:
        """The highest blocks, online or not."""
        self._check_blocks(size)
        gone = tuple(sorted(self.blocks, reverse=True)[: size // BLOCK])
        self.unplug_blocks(gone)
        return gone

    def unplug_blocks(self, blocks: Iterable[int]) -> None:
        """These, online or not."""
        for block in blocks:
            self.empty(block)
            del self.blocks[block]
            self.say("remove", Part("memory", block))

    def set_memory(self, size: int, node: int = 0) -> None:
        """MemTotal becomes that, on one NUMA node, and nobody is told."""
        self.nodes[node] += size - self.memory
        self.follow()

    def plug_node(self, node: int, memory: int = 0) -> None:
        """Another NUMA node, with memory of its own."""
        self.nodes[node] = memory
        self.hugepages |= {(node, size): 0 for size in PAGE_SIZES}
        self.tell(Uevent("add", f"/devices/system/node/node{node}", "node"))
        self.follow()

    def unplug_node(self, node: int) -> None:
        """A NUMA node with its CPUs and all its memory."""
        self.unplug_cpus([cpu for cpu in self.present if self.homes.get(cpu, 0) == node])
        del self.nodes[node]
        self.hugepages = {key: pages for key, pages in self.hugepages.items() if key[0] != node}
        self.tell(Uevent("remove", f"/devices/system/node/node{node}", "node"))
        self.follow()

    def set_hugepages(self, size: int, count: int, *, node: int = 0, in_use: int = 0) -> None:
        """As ``nr_hugepages`` is written: what is in use beyond the count stays as surplus."""
        self.hugepages[node, size] = max(count, in_use)
        self.surplus[node, size] = max(0, in_use - count)

    def swapon(self, size: int) -> None:
        """One more swap device."""
        self._set_swap(self.swap + size)

    def swapoff(self) -> None:
        """No swap any more."""
        self._set_swap(0)

    def refuse(self, part: str, number: int = errno.EBUSY) -> None:
        """Let a part keep its state, whatever is written."""
        self.refusals[part] = number

    def overrun(self) -> None:
        """Events were lost."""
        self.tell(Overrun())

    async def read(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """The texts that were asked for."""
        wanted = hostsysfs.pattern(tuple(paths))
        found = {path: text for path, text in hostsysfs.texts(self) if wanted.fullmatch(path)}
        self.looks.append(len(found))
        sizes = Filesystem(capacity=self.storage, available=self.storage, inodes=10**6, inodes_free=10**6)
        return Snapshot(texts=found, filesystems=dict.fromkeys(filesystems, sizes), architecture="x86_64")

    def _free(self, count: int) -> list[int]:
        return [cpu for cpu in range(len(self.present) + count) if cpu not in self.present][:count]

    def _add_cpu(self, cpu: int) -> None:
        if cpu in self.present:
            raise InputError(f"cannot plug CPU {cpu}: it is there already")
        self.present.add(cpu)
        self.say("add", Part("cpu", cpu))

    def _check_blocks(self, size: int) -> None:
        if size <= 0 or size % BLOCK:
            raise InputError(
                f"cannot plug {size} bytes of memory: blocks have {BLOCK}; `set_memory` takes any size"
            )

    def _set_swap(self, size: int) -> None:
        self.swap = size
        self.tell_of_swap()
