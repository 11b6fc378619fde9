"""A FlexVM with everything filled in that its author left out, as KubeVirt's webhooks fill it in.

Bounds give way to the size: a machine that is wanted bigger than its maximum has a higher one from its next start.
"""

from typing import Final

from flexlet.api import quantity
from flexlet.api.pod import ResourceList
from flexlet.api.units import GIB, MIB
from flexlet.core.vm import guest
from flexlet.core.vm.machines import machine_of
from flexlet.core.vm.objects import Cpu, Domain, FlexVM, Memory
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wish import Wanted
from flexlet.errors import InputError

__all__ = ["Wanted", "machine", "wanted"]

MAX_VCPUS: Final = 512
"""Each machine type has its own maximum; this is KubeVirt's for all."""
MIN_SHARE: Final = 4
"""The part that is always there is at least this fraction of the maximum: a plugged GiB costs it 16 MiB."""
MIN_STEP: Final = 128 * MIB


def wanted(vm: FlexVM, settings: Settings) -> Wanted:
    """What is wanted, however little was written; `validation` says whether it can be had."""
    machine = vm.spec.template.spec
    domain, architecture = machine.domain, machine.architecture or "amd64"
    sockets, cores, threads = topology(domain)
    is_fixed = architecture == "arm64"
    memory = guest_memory(domain)
    most = _max_memory(domain, memory, settings, is_fixed=is_fixed or domain.launch_security is not None)
    return Wanted(
        sockets=sockets,
        cores=cores,
        threads=threads,
        max_sockets=_max_sockets(domain.cpu, (sockets, cores, threads), settings, is_fixed=is_fixed),
        min_memory=_min_memory(domain.memory, memory, most),
        memory=memory,
        max_memory=most,
        page_size=page_size(domain.memory),
        page_name=domain.memory.hugepages.page_size if domain.memory.hugepages else "",
        architecture=architecture,
        is_dedicated=domain.cpu.dedicated_cpu_placement,
        has_emulator_thread=domain.cpu.isolate_emulator_thread,
        limit_policy=domain.cpu.limit_policy,
        cpu_request_m=_milli(domain.resources.requests),
        cpu_limit_m=_milli(domain.resources.limits),
        memory_request=_bytes(domain.resources.requests),
        memory_limit=_bytes(domain.resources.limits),
        is_overhead_overcommitted=domain.resources.overcommit_guest_overhead,
        overhead_model=vm.spec.overhead_model,
        added_overhead=_added(domain.memory),
        mem_lock=domain.memory.reserved_overhead.mem_lock if domain.memory.reserved_overhead else "",
        has_graphics=domain.devices.autoattach_graphics_device,
        has_vfio=bool(domain.devices.gpus or domain.devices.host_devices),
        has_tpm=domain.devices.tpm is not None,
        is_encrypted=domain.launch_security is not None,
    )


def machine(vm: FlexVM, settings: Settings) -> guest.Machine:
    """What the launcher starts."""
    return machine_of(vm, wanted(vm, settings))


def topology(domain: Domain) -> tuple[int, int, int]:
    """Sockets, cores and threads; without any of them as many sockets as the pod has CPUs."""
    cpu = domain.cpu
    if cpu.vcpus is not None:
        return cpu.vcpus, 1, 1
    if not (cpu.sockets or cpu.cores or cpu.threads):
        given = _milli(domain.resources.limits) or _milli(domain.resources.requests) or 1000
        return -(-given // 1000), 1, 1
    return cpu.sockets or 1, cpu.cores or 1, cpu.threads or 1


def guest_memory(domain: Domain) -> int:
    """memory.guest, or else the pod's request or limit; 0: nobody has said."""
    if domain.memory.guest is not None:
        return domain.memory.guest.value
    given = _bytes(domain.resources.requests) or _bytes(domain.resources.limits)
    return given or page_size(domain.memory)


def page_size(memory: Memory) -> int:
    """Bytes of the huge pages, 0 without them (or if nobody can read their size)."""
    if memory.hugepages is None:
        return 0
    try:
        return quantity.parse(memory.hugepages.page_size).value
    except InputError:
        return 0


def default_min(memory: int, most: int) -> int:
    """max(1Gi, a quarter of the maximum), in whole blocks of the guest, never above what it starts with."""
    share = -(-most // MIN_SHARE)
    return min(memory, max(GIB, -(-share // MIN_STEP) * MIN_STEP))


def default_max_sockets(topology: tuple[int, int, int], settings: Settings) -> int:
    """The cluster's maximum if there is one, else by the ratio, within 512 vCPUs; never below the start."""
    sockets, cores, threads = topology
    if settings.max_cpu_sockets:
        return max(sockets, settings.max_cpu_sockets)
    most = sockets * settings.max_hotplug_ratio
    return max(sockets, min(most, MAX_VCPUS // max(1, cores * threads)))


def _max_sockets(cpu: Cpu, topology: tuple[int, int, int], settings: Settings, *, is_fixed: bool) -> int:
    if cpu.max_sockets:
        return max(cpu.max_sockets, topology[0])
    return topology[0] if is_fixed else default_max_sockets(topology, settings)


def _max_memory(domain: Domain, memory: int, settings: Settings, *, is_fixed: bool) -> int:
    if domain.memory.max_guest is not None:
        return max(domain.memory.max_guest.value, memory)
    return memory if is_fixed else max(memory, settings.max_guest or memory * settings.max_hotplug_ratio)


def _min_memory(memory: Memory, guest: int, most: int) -> int:
    return default_min(guest, most) if memory.min_guest is None else min(memory.min_guest.value, guest)


def _added(memory: Memory) -> int:
    reserved = memory.reserved_overhead
    return reserved.added_overhead.value if reserved and reserved.added_overhead is not None else 0


def _milli(amounts: ResourceList) -> int | None:
    found = amounts.get("cpu")
    return found.milli if found else None


def _bytes(amounts: ResourceList) -> int | None:
    found = amounts.get("memory")
    return found.value if found else None
