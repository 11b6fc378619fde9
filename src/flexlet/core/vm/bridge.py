"""Machines of KubeVirt and our own, as what a plan of a resize needs to know. Nothing is ever written back.

KubeVirt's machine has all it starts with as base memory, so it cannot become smaller than that; a FlexVM can, down
to minGuest. What keeps KubeVirt from migrating a machine is told, and keeps nobody from resizing it in place.
"""

from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.units import GIB, MIB
from flexlet.core.vm import kubevirt, names
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.guest import Machine
from flexlet.core.vm.migratable import not_migratable
from flexlet.core.vm.objects import Cpu, Devices, Domain, FlexVM, FlexVMSpec, Memory, Template
from flexlet.core.vm.objects import Machine as Spec
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine, wanted
from flexlet.core.vm.wish import Wanted
from flexlet.errors import InputError

PASST: Final = 250 * MIB
LEAST: Final = GIB
"""What KubeVirt wants a guest to have before it plugs memory."""
_KINDS: Final = ("VirtualMachine", "VirtualMachineInstance", names.KIND)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that a plan is made for."""

    kind: str
    namespace: str
    name: str
    wanted: Wanted
    machine: Machine
    """As it was started, or would be."""
    now: Sizes
    vm: FlexVM
    """The machine in our words."""
    memory_hindrance: str = ""
    """Why KubeVirt never plugs memory into it."""
    unmovable: str = ""
    """Why it cannot be migrated."""


def is_machine(body: Any) -> bool:
    """Whether an object is one of those that can be planned."""
    if not isinstance(body, dict):
        return False
    group = str(body.get("apiVersion", "")).partition("/")[0]
    return body.get("kind") in _KINDS and group in {kubevirt.GROUP, names.GROUP}


def subject(body: dict[str, Any], settings: Settings, instance: bytes | None = None) -> Subject:
    """A machine from its JSON, and from that of its running instance; InputError if it cannot be read."""
    raw = decode.to_json(body)
    if body["kind"] == names.KIND:
        return _flexvm(decode.from_json(raw, FlexVM), settings)
    if body["kind"] == "VirtualMachineInstance":
        found = decode.from_json(raw, kubevirt.Instance)
        return _kubevirt(body["kind"], found.metadata.namespace, found.metadata.name, found, settings)
    stored = decode.from_json(raw, kubevirt.VirtualMachine)
    running = decode.from_json(instance, kubevirt.Instance) if instance else None
    spec = stored.spec.template.spec
    if stored.spec.instancetype is not None and running is None:
        kind = stored.spec.instancetype.name
        raise InputError(
            f"{stored.metadata.name} has its size from instancetype {kind}: plan its VirtualMachineInstance, or"
            " what `virtctl expand` prints"
        )
    found = running or kubevirt.Instance(spec=spec, status=stored.status)
    return _kubevirt(body["kind"], stored.metadata.namespace, stored.metadata.name, found, settings)


def _flexvm(vm: FlexVM, settings: Settings) -> Subject:
    size, boot, status = wanted(vm, settings), machine(vm, settings), vm.status
    topology, memory = status.current_cpu_topology, status.memory
    vcpus = topology.sockets * topology.cores * topology.threads if topology else size.vcpus
    current = memory.guest_current.value if memory and memory.guest_current else size.memory
    why = not_migratable(vm)
    return Subject(
        kind=names.KIND,
        namespace=vm.metadata.namespace,
        name=vm.metadata.name,
        wanted=size,
        machine=boot,
        now=Sizes(vcpus, current),
        vm=vm,
        unmovable=f"{why[0]}: {why[1]}" if why else "",
    )


def _kubevirt(kind: str, namespace: str, name: str, found: kubevirt.Instance, settings: Settings) -> Subject:
    vm = _translated(found.spec)
    size = _extended(wanted(vm, settings), found.spec)
    topology, memory = found.status.current_cpu_topology, found.status.memory
    vcpus = topology.sockets * topology.cores * topology.threads if topology else size.vcpus
    current = memory.guest_current.value if memory and memory.guest_current else size.memory
    start = memory.guest_at_boot.value if memory and memory.guest_at_boot else size.memory
    most = _most(found.spec, start, size, settings)
    boot = msgspec.structs.replace(machine(vm, settings), min_memory=start, memory=start, max_memory=most)
    movable = next((c for c in found.status.conditions if c.type == "LiveMigratable"), None)
    stuck = movable is not None and movable.status == "False"
    return Subject(
        kind=kind,
        namespace=namespace,
        name=name,
        wanted=msgspec.structs.replace(size, min_memory=start, max_memory=most),
        machine=boot,
        now=Sizes(vcpus, current),
        vm=vm,
        memory_hindrance=_hindrance(found.spec.domain, start),
        unmovable=f"{movable.reason}: {movable.message}".rstrip(": ") if movable and stuck else "",
    )


def _most(spec: kubevirt.InstanceSpec, start: int, size: Wanted, settings: Settings) -> int:
    """A maximum that nobody named follows from what the machine started with."""
    if spec.domain.memory.max_guest is not None or size.architecture == "arm64" or spec.domain.launch_security:
        return size.max_memory
    return max(start, settings.max_guest or start * settings.max_hotplug_ratio)


def _translated(spec: kubevirt.InstanceSpec) -> FlexVM:
    """The same machine as a FlexVM, as far as both have words for it."""
    cpu, memory = spec.domain.cpu, spec.domain.memory
    domain = Domain(
        cpu=Cpu(
            sockets=cpu.sockets or None,
            cores=cpu.cores or None,
            threads=cpu.threads or None,
            max_sockets=cpu.max_sockets or None,
            dedicated_cpu_placement=cpu.dedicated_cpu_placement,
            isolate_emulator_thread=cpu.isolate_emulator_thread,
        ),
        memory=Memory(
            guest=memory.guest,
            max_guest=memory.max_guest,
            hugepages=memory.hugepages,
            reserved_overhead=memory.reserved_overhead,
        ),
        resources=spec.domain.resources,
        devices=Devices(autoattach_graphics_device=spec.domain.devices.autoattach_graphics_device is not False),
    )
    architecture: Any = spec.architecture if spec.architecture == "arm64" else ""
    return FlexVM(spec=FlexVMSpec(template=Template(spec=Spec(domain=domain, architecture=architecture))))


def _extended(size: Wanted, spec: kubevirt.InstanceSpec) -> Wanted:
    """With what FlexVMs do not have."""
    devices, probes = spec.domain.devices, (spec.liveness_probe, spec.readiness_probe)
    is_passt = any(i.passt is not None or i.passt_binding is not None for i in devices.interfaces)
    sriov = any(interface.sriov is not None for interface in devices.interfaces)
    request, limit = _following(size)
    return msgspec.structs.replace(
        size,
        memory_request=request,
        memory_limit=limit,
        io_threads=spec.domain.io_threads.supplemental_pool_thread_count,
        has_page_tables=size.memory_request is not None,
        has_vfio=bool(devices.gpus or devices.host_devices or sriov),
        has_tpm=devices.tpm is not None and devices.tpm.get("enabled") is not False,
        is_encrypted=spec.domain.launch_security is not None,
        has_downward_metrics=any(volume.downward_metrics is not None for volume in spec.volumes),
        exec_probes=sum(probe is not None and probe.exec is not None for probe in probes),
        binding_memory=PASST if is_passt else 0,
    )


def _following(size: Wanted) -> tuple[int | None, int | None]:
    """Request and limit of a pod that follows its guest both ways, as KubeVirt's does by differences.

    Amounts of a FlexVM's pod are never undercut; KubeVirt's bind nothing if they are no more than the guest has.
    """
    request, limit = size.memory_request, size.memory_limit
    named = request or limit or 0
    least = named if named > size.memory else 1
    return (least if request else None), (least + limit - named if limit else None)


def _hindrance(domain: kubevirt.Domain, start: int) -> str:
    """KubeVirt's words for machines whose memory is never plugged."""
    cpu = domain.cpu
    if cpu.realtime is not None:
        return "Memory hotplug is not compatible with realtime VMs"
    if cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None:
        return "Memory hotplug is not compatible with guest mapping passthrough"
    if domain.launch_security is not None:
        return "Memory hotplug is not compatible with encrypted VMs"
    if start < LEAST:
        return "Memory hotplug is only available for VMs with at least 1Gi of guest memory"
    return ""
