"""How big virtual machines are, how big they shall be, and what their launcher pods have been granted."""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.meta import Condition
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.sizes import words
from flexlet.core.vm.objects import AT_REST, FlexVM, PodSizes, Resize
from flexlet.core.vm.wanted import guest_memory, topology

RESTART: Final = "RestartRequired"


class Vcpus(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a guest; None: nobody has said."""

    now: int | None
    wanted: int


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The same of its memory."""

    now: Quantity | None
    wanted: Quantity


class VmSizes(msgspec.Struct, frozen=True, kw_only=True):
    """A virtual machine for people."""

    namespace: str
    name: str
    status: str
    """Stopped, Starting, Running ..."""
    node: str
    vcpus: Vcpus
    memory: Memory
    pod: PodSizes
    phase: str
    message: str
    conditions: tuple[Condition, ...] = ()

    @property
    def resize(self) -> str:
        """``PodDeferred: node n1 has no room``; with nothing under way, why a restart is needed for the rest."""
        needed = next((c for c in self.conditions if (c.type, c.status) == (RESTART, "True")), None)
        if needed is not None and self.phase in AT_REST:
            return ": ".join(filter(None, (RESTART, needed.message)))
        return ": ".join(filter(None, (self.phase, self.message)))


def of_vms(vms: Iterable[FlexVM]) -> list[VmSizes]:
    """All machines by namespace and name."""
    return sorted(map(of_vm, vms), key=lambda each: (each.namespace, each.name))


def of_vm(vm: FlexVM) -> VmSizes:
    """One machine."""
    status, resize = vm.status, vm.status.resize or Resize()
    return VmSizes(
        namespace=vm.metadata.namespace,
        name=vm.metadata.name,
        status=status.printable_status or "Unknown",
        node=status.node_name,
        vcpus=Vcpus(now=vcpus_now(vm), wanted=vcpus_wanted(vm)),
        memory=Memory(
            now=status.memory.guest_current if status.memory else None,
            wanted=Quantity.of_bytes(guest_memory(vm.spec.template.spec.domain)),
        ),
        pod=status.pod or PodSizes(),
        phase=resize.phase,
        message=resize.message,
        conditions=status.conditions,
    )


def vcpus_wanted(vm: FlexVM) -> int:
    """Sockets x cores x threads of the spec."""
    sockets, cores, threads = topology(vm.spec.template.spec.domain)
    return sockets * cores * threads


def vcpus_now(vm: FlexVM) -> int | None:
    """The same of what the guest has."""
    found = vm.status.current_cpu_topology
    return found.sockets * found.cores * found.threads if found is not None else None


def rows(vms: Iterable[VmSizes], *, everywhere: bool = False) -> list[tuple[str, ...]]:
    """A row for each; an arrow leads from what is to what shall be."""
    head = ("NAME", "STATUS", "NODE", "VCPUS", "MEMORY", "POD CPU", "POD MEMORY", "RESIZE")
    found: list[tuple[str, ...]] = [("NAMESPACE", *head) if everywhere else head]
    for vm in vms:
        who = (vm.namespace, vm.name) if everywhere else (vm.name,)
        sizes = (vcpus(vm), memory(vm), granted(vm.pod, CPU), granted(vm.pod, MEMORY))
        found.append((*who, vm.status, vm.node or "-", *sizes, vm.resize))
    return found


def vcpus(vm: VmSizes) -> str:
    """``4 -> 8``; of a machine that does not run, what it will have."""
    now, wanted = vm.vcpus.now, vm.vcpus.wanted
    return str(wanted) if now in {None, wanted} else f"{now} -> {wanted}"


def memory(vm: VmSizes) -> str:
    """The same of its memory."""
    now, wanted = vm.memory.now, vm.memory.wanted
    return words.change(MEMORY, wanted if now is None else now, wanted)


def granted(pod: PodSizes, resource: str) -> str:
    """``400m -> 800m``: what the node has allocated, and what is asked of it."""
    allocated, desired = _of(pod.allocated, resource), _of(pod.desired, resource)
    return words.change(resource, allocated if allocated is not None else desired, desired)


def _of(amounts: ResourceList, resource: str) -> Quantity | None:
    return amounts.get(resource)
