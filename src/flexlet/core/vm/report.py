"""The status of a FlexVM."""

import hashlib

import msgspec

from flexlet.api.patch import difference
from flexlet.api.quantity import Quantity
from flexlet.core.actions import PatchObject
from flexlet.core.vm import amounts, claims, names
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.objects import FlexVM, FlexVMStatus, MemoryStatus, PodSizes, Resize, Topology
from flexlet.core.vm.podsize import Need
from flexlet.core.vm.running import Will
from flexlet.core.vm.scene import Scene


def status(scene: Scene, will: Will, resize: Resize | None, desired: Need | None, now: float) -> FlexVMStatus:
    """The status after a look."""
    before, pod = scene.vm.status, scene.pod
    is_same = pod is not None and before.pod is not None and before.pod.uid == pod.uid
    return FlexVMStatus(
        observed_generation=scene.vm.metadata.generation,
        printable_status=printable(scene, will, resize),
        node_name=pod.node if pod else "",
        current_cpu_topology=_topology(scene) or (before.current_cpu_topology if is_same else None),
        memory=_memory(scene, is_same=is_same),
        pod=_sizes(scene, desired),
        resize=resize or before.resize,
        started_with=_digest(scene),
        devices=scene.devices,
        start_failure=will.failure,
        power=will.power,
        ended=will.ended,
        conditions=claims.conditions(scene, resize, will, now),
    )


def patch(vm: FlexVM, new: FlexVMStatus) -> PatchObject | None:
    """The write that makes a status so, None if it is so."""
    change = difference.between(vm.status, new)
    if not change:
        return None
    return PatchObject(
        ref=names.FLEX_VMS,
        namespace=vm.metadata.namespace,
        name=vm.metadata.name,
        patch={"status": change},
        subresource="status",
        on_behalf_of=f"{vm.metadata.namespace}/{vm.metadata.name}",
    )


def is_figures_only(vm: FlexVM, new: FlexVMStatus) -> bool:
    """Whether nothing changed but how much a guest has just now."""
    return _gist(vm.status) == _gist(new)


def _gist(status: FlexVMStatus) -> object:
    """A status without what changes all the time while a guest changes its size."""
    resize = status.resize and msgspec.structs.replace(status.resize, reached=None, message="")
    claims = [(c.type, c.status, c.reason) for c in status.conditions]
    bare = msgspec.structs.replace(
        status, resize=resize, memory=None, current_cpu_topology=None, conditions=(), observed_generation=0
    )
    return bare, claims, status.observed_generation


def printable(scene: Scene, will: Will, resize: Resize | None) -> str:
    """One word for people, KubeVirt's where it has one."""
    pod = scene.pod
    if any(p.is_ending for p in scene.pods) and pod is None:
        return "Terminating" if scene.vm.metadata.deletion_timestamp else "Stopping"
    if pod is None:
        if will.deed == "wait" and will.wake_at is not None:
            return "CrashLoopBackOff"
        return "Starting" if will.deed in {"create", "delete", "wait"} and not _is_off(will) else "Stopped"
    if scene.is_moving:
        return "Migrating"
    if scene.report is None:
        return "ErrorUnschedulable" if pod.stuck.startswith("Unschedulable") else "Starting"
    if scene.report.run_state == "Paused":
        return "Paused"
    return "Resizing" if resize is not None and resize.phase in claims.BUSY else "Running"


def _is_off(will: Will) -> bool:
    return will.deed == "delete" and bool(will.pods) and all(p.is_live for p in will.pods)


def _topology(scene: Scene) -> Topology | None:
    report, machine = scene.report, scene.machine
    if report is None or machine is None:
        return None
    per_socket = machine.cores * machine.threads
    return Topology(sockets=-(-report.vcpus // per_socket), cores=machine.cores, threads=machine.threads)


def _memory(scene: Scene, *, is_same: bool) -> MemoryStatus | None:
    report, machine, before = scene.report, scene.machine, scene.vm.status.memory
    if machine is None:
        return None
    if report is None:
        return before if is_same else None
    held = Sizes(report.vcpus, max(report.memory, report.requested))
    return MemoryStatus(
        guest_at_boot=Quantity.of_bytes(machine.memory),
        guest_current=Quantity.of_bytes(report.memory),
        guest_requested=Quantity.of_bytes(report.requested),
        memory_overhead=Quantity.of_bytes(scene.overhead(held)),
        overhead_correction=Quantity.of_bytes(scene.correction) if scene.correction else None,
    )


def _sizes(scene: Scene, desired: Need | None) -> PodSizes | None:
    pod = scene.pod
    if pod is None:
        return None
    is_placed = bool(pod.node)
    return PodSizes(
        name=pod.name,
        uid=pod.uid,
        desired=amounts.listed(desired or pod.spec),
        allocated=amounts.listed(pod.allocated) if is_placed else {},
        actual=amounts.listed(pod.actual) if is_placed else {},
    )


def _digest(scene: Scene) -> str:
    """Of all that QEMU was started with."""
    machine = scene.machine
    return hashlib.sha256(msgspec.json.encode(machine)).hexdigest()[:16] if machine else ""
