"""Where the figures of a machine are read: paths below the host root, some with wildcards.

Two lists: `SIZES` is short and read again and again; `EVERYTHING` has several files per CPU and per block of
memory, and is read at the start and when the short one shows that parts came or went (`needs_everything`).
Follows the table of node-resize.md §1.1, that is cAdvisor's ``machine``, ``sysinfo`` and ``sysfs`` packages.
"""

from typing import Final

from flexlet.core.machine.snapshot import Snapshot

MEMINFO: Final = "/proc/meminfo"
ZONES: Final = "/proc/zoneinfo"
PID_MAX: Final = "/proc/sys/kernel/pid_max"
THREADS_MAX: Final = "/proc/sys/kernel/threads-max"

CPU: Final = "/sys/devices/system/cpu"
NODE: Final = "/sys/devices/system/node"
MEMORY: Final = "/sys/devices/system/memory"
HUGEPAGES: Final = "/sys/kernel/mm/hugepages"
CGROUP: Final = "/sys/fs/cgroup"

CPUS_ONLINE: Final = f"{CPU}/online"
CPUS_PRESENT: Final = f"{CPU}/present"
CPUS_POSSIBLE: Final = f"{CPU}/possible"
NODES_ONLINE: Final = f"{NODE}/online"
BLOCK_SIZE: Final = f"{MEMORY}/block_size_bytes"
AUTO_ONLINE: Final = f"{MEMORY}/auto_online_blocks"
CONTROLLERS: Final = f"{CGROUP}/cgroup.controllers"

MACHINE_ID: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
SYSTEM_UUID: Final = (
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/system-id",
    "/proc/device-tree/vm,uuid",
    "/etc/machine-id",
)
KERNEL: Final = "/proc/sys/kernel/osrelease"
OS_RELEASE: Final = ("/etc/os-release", "/usr/lib/os-release")

CORE_PARTS: Final = ("physical_package_id", "drawer_id", "book_id", "core_id")
"""What together names a core; drawers and books exist on s390x only."""

SIZES: Final = (
    MEMINFO,
    PID_MAX,
    THREADS_MAX,
    CPUS_ONLINE,
    CPUS_PRESENT,
    NODES_ONLINE,
    f"{NODE}/node[0-9]*/meminfo",
    f"{NODE}/node[0-9]*/hugepages/hugepages-*/nr_hugepages",
    f"{NODE}/node[0-9]*/hugepages/hugepages-*/surplus_hugepages",
    f"{HUGEPAGES}/hugepages-*/nr_hugepages",
    f"{HUGEPAGES}/hugepages-*/surplus_hugepages",
)
EVERYTHING: Final = (
    *SIZES,
    CPUS_POSSIBLE,
    ZONES,
    *(f"{CPU}/cpu[0-9]*/topology/{part}" for part in CORE_PARTS),
    *(f"{CPU}/cpu[0-9]*/cache/index*/{part}" for part in ("level", "id", "shared_cpu_list")),
    f"{NODE}/node[0-9]*",
    f"{NODE}/node[0-9]*/cpu[0-9]*",
    f"{NODE}/node[0-9]*/memory[0-9]*",
    f"{NODE}/node[0-9]*/distance",
    f"{MEMORY}/memory[0-9]*/state",
    f"{MEMORY}/memory[0-9]*/valid_zones",
    BLOCK_SIZE,
    AUTO_ONLINE,
    CONTROLLERS,
    f"{CGROUP}/*/memory.swap.max",
    *MACHINE_ID,
    BOOT_ID,
    *SYSTEM_UUID[:3],
    KERNEL,
    *OS_RELEASE,
)


def needs_everything(last: Snapshot, sizes: Snapshot) -> bool:
    """Whether CPUs or NUMA nodes came or went since everything was read."""
    return any(last.text(path) != sizes.text(path) for path in (CPUS_ONLINE, CPUS_PRESENT, NODES_ONLINE))
