import msgspec
import pytest
from tests import hosts

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.machine import discovery, sources
from flexlet.core.machine.machine import Cgroups, Cpu, HalfPlugged, Identity, Machine, NumaNode
from flexlet.core.machine.snapshot import Snapshot
from flexlet.errors import HostError

KIB = 1024
SMALL = Machine(
    cpus=(Cpu(0, core=0, socket=0, numa=0, cache=0), Cpu(1, core=1, socket=0, numa=0, cache=0)),
    possible=CpuSet.parse("0-7"),
    memory=Bytes(1959256 * KIB),
    hugepages={2 * KIB**2: 0, KIB**3: 0},
    numa=(NumaNode(id=0, memory=Bytes(1959256 * KIB), hugepages={2 * KIB**2: 0, KIB**3: 0}, distances={0: 10}),),
    pids=15310,
    storage=Bytes(3021608 * KIB),
    block_size=Bytes(128 * KIB**2),
    blocks=(0,),
    auto_online="offline",
    identity=Identity(
        boot_id="5c0ee9a1-2b1e-4fb2-9d6b-7a3a6b5c1d11",
        kernel="6.1.0-54-cloud-amd64",
        os_image="Debian GNU/Linux 13 (trixie)",
        architecture="amd64",
    ),
    cgroups=Cgroups(
        unified=True, controllers=frozenset({"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}), swap=True
    ),
)


def machine(name: str) -> Machine:
    return discovery.machine(hosts.snapshot(name), hosts.STORAGE)


def test_a_small_machine() -> None:
    """Every figure of a plain virtual machine without DMI and without swap."""
    assert machine("small") == SMALL


def test_half_plugged_parts_do_not_count() -> None:
    """A CPU counts when it is online and its place is known; memory counts as MemTotal says."""
    waiting = HalfPlugged(
        offline_cpus=CpuSet.of([2]), settling_cpus=CpuSet.of([3]), offline_blocks=(32, 33), leaving_blocks=(34,)
    )
    blocks = (0, 32, 33, 34, 35)
    assert machine("half-plugged") == msgspec.structs.replace(SMALL, half_plugged=waiting, blocks=blocks)
    assert (waiting.is_moving, HalfPlugged(offline_blocks=(1,)).is_moving) == (True, False)


def test_movable_blocks_are_online_and_in_no_other_zone() -> None:
    """A block that is offline could go to the movable zone, and one across zones is in none."""
    blocks = {
        32: ("online", "Movable"),
        33: ("offline", "Movable"),
        34: ("online", "none"),
        35: ("online", "Normal"),
    }
    small = hosts.snapshot("small")
    states = {f"{sources.MEMORY}/memory{block}/state": state for block, (state, _) in blocks.items()}
    zones = {f"{sources.MEMORY}/memory{block}/valid_zones": zone for block, (_, zone) in blocks.items()}
    found = discovery.machine(msgspec.structs.replace(small, texts=small.texts | states | zones), hosts.STORAGE)
    assert (found.movable_blocks, SMALL.movable_blocks) == ((32,), ())


def test_blocks_lie_on_nodes() -> None:
    """A block across the border of two nodes is on both."""
    paths = [f"{sources.NODE}/node{node}/memory{block}" for node, block in ((0, 2), (0, 1), (1, 2), (1, 30))]
    sockets = hosts.snapshot("two-sockets")
    texts = sockets.texts | dict.fromkeys(paths, "")
    found = discovery.machine(msgspec.structs.replace(sockets, texts=texts), hosts.STORAGE)
    assert [node.blocks for node in found.numa] == [(1, 2), (2, 30), ()]


def test_two_sockets() -> None:
    """Cores of equal id on two sockets are two; a core has the name of its lowest thread."""
    assert machine("two-sockets").cpus == tuple(
        Cpu(cpu, core=cpu % 4, socket=cpu % 4 // 2, numa=cpu % 4 // 2, cache=cpu % 4 // 2) for cpu in range(8)
    )


def test_a_node_may_have_no_cpus() -> None:
    """Distances go by position among the nodes that are online, not by id."""
    pages = [{2 * KIB**2: 256, KIB**3: 1}, {2 * KIB**2: 768, KIB**3: 0}, {2 * KIB**2: 0, KIB**3: 0}]
    distances = [{0: 10, 1: 21, 3: 17}, {0: 21, 1: 10, 3: 28}, {0: 17, 1: 28, 3: 10}]
    found = machine("two-sockets")
    assert found.numa == tuple(
        NumaNode(id=node, memory=Bytes(32768000 * KIB), hugepages=pages[place], distances=distances[place])
        for place, node in enumerate((0, 1, 3))
    )
    assert (found.swap, found.hugepages, found.pids) == (4194300 * KIB, {2 * KIB**2: 1024, KIB**3: 1}, 32768)


def test_a_cache_of_part_of_a_node_is_named() -> None:
    """Cores around one last-level cache are told apart only if the node has several of them."""
    assert [cpu.cache for cpu in machine("split-cache").cpus] == [8, 8, 9, 9]


def test_without_topology_each_cpu_is_a_core() -> None:
    """Some kernels tell nothing about where CPUs sit."""
    found = machine("plain-arm")
    assert found.cpus == tuple(Cpu(cpu, core=cpu, socket=0, numa=0, cache=0) for cpu in range(4))
    assert (found.numa, found.cgroups) == ((NumaNode(id=0),), Cgroups())
    assert found.identity == Identity(
        system_uuid="9a1f2c3d-0000-4000-8000-00000000abcd",
        boot_id="11111111-2222-4333-8444-555555555555",
        kernel="Unknown",
        os_image="Alpine",
        architecture="arm64",
    )


def test_without_numa_sockets_stand_for_nodes_and_offline_cpus_do_not_count() -> None:
    """Upstream would count the offline CPU here."""
    found = machine("no-numa")
    assert found.cpus == tuple(Cpu(cpu, core=cpu, socket=cpu, numa=cpu, cache=cpu) for cpu in range(3))
    assert [node.id for node in found.numa] == [0, 1, 2]
    assert found.half_plugged == HalfPlugged(offline_cpus=CpuSet.of([3]))


def test_a_kernel_without_an_online_list_has_all_cpus_online() -> None:
    snapshot = hosts.snapshot("split-cache")
    for path in (sources.CPUS_ONLINE, sources.CPUS_PRESENT):
        del snapshot.texts[path]
    assert discovery.machine(snapshot).online == CpuSet.parse("0-3")


@pytest.mark.parametrize(
    ("release", "name"),
    [(None, "Unknown"), ("ID=x", "Linux"), ('A=1\nPRETTY_NAME="My System 1"\nB=2', "My System 1")],
)
def test_the_system_has_a_name(release: str | None, name: str) -> None:
    snapshot = hosts.snapshot("small")
    del snapshot.texts[sources.OS_RELEASE[0]]
    if release is not None:
        snapshot.texts[sources.OS_RELEASE[1]] = release
    assert discovery.machine(snapshot).identity.os_image == name


def test_ids_come_from_the_first_file_that_exists() -> None:
    """DMI before device tree before machine id; firmware ends texts with a zero byte."""
    snapshot = hosts.snapshot("small")
    snapshot.texts["/var/lib/dbus/machine-id"] = "dbus\n"
    snapshot.texts["/proc/device-tree/system-id"] = "from-firmware\0"
    found = discovery.machine(snapshot).identity
    assert (found.machine_id, found.system_uuid) == ("dbus", "from-firmware")


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (sources.MEMINFO, None, "cannot measure memory: /proc/meminfo: it has no MemTotal"),
        (sources.MEMINFO, "MemTotal:  0 kB", "cannot measure memory: /proc/meminfo: it has no MemTotal"),
        (sources.CPUS_ONLINE, "", "cannot count CPUs: /sys/devices/system/cpu/online lists none"),
        (sources.CPUS_ONLINE, "9", "cannot count CPUs: none of 9 says under /sys/devices/system/cpu on which "),
        (
            sources.CPUS_ONLINE,
            "zero",
            "cannot read /sys/devices/system/cpu/online: cannot read 'zero' in CPU list",
        ),
        (f"{sources.HUGEPAGES}/hugepages-2048kB/nr_hugepages", "many", "cannot read /sys/kernel/mm/hugepages/"),
    ],
)
def test_a_reading_that_cannot_be_true_is_refused(path: str, text: str | None, message: str) -> None:
    """The caller keeps the machine it knew."""
    snapshot = hosts.snapshot("small")
    snapshot.texts.pop(path, None)
    if text is not None:
        snapshot.texts[path] = text
    with pytest.raises(HostError) as error:
        discovery.machine(snapshot)
    assert str(error.value).startswith(message)


def test_an_unreadable_file_is_named() -> None:
    with pytest.raises(HostError, match="cannot measure memory: /proc/meminfo: Permission denied"):
        discovery.machine(Snapshot(unreadable={sources.MEMINFO: "Permission denied"}))


def test_a_short_sweep_brings_a_machine_up_to_date() -> None:
    """Sizes are read again and again; the topology only when parts came or went."""
    everything = hosts.snapshot("two-sockets")
    known = discovery.machine(everything, hosts.STORAGE)
    assert discovery.measured(known, everything, hosts.STORAGE) is known
    changed = {
        sources.MEMINFO: "MemTotal: 4000000 kB\nSwapTotal: 1024 kB\n",
        f"{sources.NODE}/node3/meminfo": "Node 3 MemTotal: 5 kB\n",
        f"{sources.NODE}/node3/hugepages/hugepages-2048kB/nr_hugepages": "7\n",
        sources.PID_MAX: "99\n",
    }
    grown = msgspec.structs.replace(everything, texts=everything.texts | changed)
    assert not sources.needs_everything(everything, grown)
    assert discovery.measured(known, grown, hosts.STORAGE) == discovery.machine(grown, hosts.STORAGE) != known
    plugged = msgspec.structs.replace(everything, texts=everything.texts | {sources.CPUS_PRESENT: "0-8"})
    assert sources.needs_everything(everything, plugged)


def test_surplus_pages_are_no_capacity() -> None:
    """Pages in use when their number was lowered stay until they are freed, and nobody may count on them."""
    snapshot = hosts.snapshot("two-sockets")
    snapshot.texts[f"{sources.HUGEPAGES}/hugepages-2048kB/surplus_hugepages"] = "24\n"
    snapshot.texts[f"{sources.NODE}/node1/hugepages/hugepages-2048kB/surplus_hugepages"] = "24\n"
    found = discovery.machine(snapshot)
    assert found.hugepages == {2 * KIB**2: 1000, KIB**3: 1}
    assert [node.hugepages[2 * KIB**2] for node in found.numa] == [256, 744, 0]


def test_movable_memory_is_a_share_of_all() -> None:
    """Zones are counted in pages of a size that depends on the machine; their share does not."""
    snapshot = hosts.snapshot("small")
    snapshot.texts[sources.ZONES] = ZONES
    assert discovery.machine(snapshot).movable == SMALL.memory * 3 // 4


ZONES = """Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 72965
  pages free     2816
        managed  1000
        cma      0
Node 0, zone   Normal
  pages free     2816
        managed  2000
Node 0, zone  Movable
  pages free     0
        managed  9000
"""
