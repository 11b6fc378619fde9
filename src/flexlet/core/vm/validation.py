"""What cannot be had of a FlexVM, in KubeVirt's words where it has some, and what to do about it.

Three answers: `complaints` (it cannot be started as written), `restart_reasons` (it runs, and this can only change
at the next start) and `not_resizable` (no in-place resize of its pod can do it; the fallback decides). Bounds that
the wanted size oversteps are no complaint: the running machine keeps its own, and the next one has room for it.
"""

from collections.abc import Iterator
from typing import Final, Literal

from flexlet.api.fielderrors import FieldError
from flexlet.core.vm import fieldchecks, guest, parts
from flexlet.core.vm.objects import Domain, FlexVM
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine, wanted
from flexlet.core.vm.wish import Wanted

Resource = Literal["cpu", "memory"]
Why = tuple[str, str]

HIGHER_SOCKETS: Final = "CPU sockets updated in template spec to a value higher than what's available"
REDUCED_SOCKETS: Final = "Reduction of CPU socket count requires a restart"
ARM: Final = "ARM doesn't support CPU hotplug"
LOWER_MEMORY: Final = "memory updated in template spec to a value lower than what the VM started with"
HIGHER_MEMORY: Final = "memory updated in template spec to a value higher than what's available"
NO_MEMORY_HOTPLUG: Final = (
    "memory updated in template spec. Memory-hotplug is not available for this VM configuration"
)
NOT_MIGRATABLE: Final = "memory updated in template spec. Memory-hotplug is only available for migratable VMs"
OTHER_FIELD: Final = "a non-live-updatable field was changed in the template spec"

_FIXED: Final = {
    "cores": "domain.cpu.cores",
    "threads": "domain.cpu.threads",
    "cpu_model": "domain.cpu.model",
    "page_size": "domain.memory.hugepages",
    "memory_device": "domain.memory.device",
    "disks": "volumes",
    "has_network": "domain.devices.interfaces",
    "forwards": "domain.devices.interfaces",
    "kernel": "domain.firmware.kernelBoot",
    "initrd": "domain.firmware.kernelBoot",
    "kernel_args": "domain.firmware.kernelBoot",
    "has_graphics": "domain.devices.autoattachGraphicsDevice",
}


def complaints(vm: FlexVM, settings: Settings) -> list[FieldError]:
    """Everything because of which no machine can be made of it."""
    spec = vm.spec.template.spec
    size = wanted(vm, settings)
    return [
        *fieldchecks.cpu_complaints(spec.domain, size),
        *fieldchecks.memory_complaints(spec.domain, size),
        *fieldchecks.resource_complaints(spec.domain),
        *fieldchecks.unsupported(spec.domain),
        *parts.complaints(spec),
        *fieldchecks.policy_complaints(vm.spec.resize_policy),
    ]


def restart_reasons(vm: FlexVM, running: guest.Machine, settings: Settings) -> list[str]:
    """Why the running machine cannot become what is wanted; nothing if it can."""
    size, other = wanted(vm, settings), machine(vm, settings)
    changed = {where for field, where in _FIXED.items() if getattr(other, field) != getattr(running, field)}
    changed |= set(_moved_bounds(vm.spec.template.spec.domain, size, running))
    if settings.rollout_strategy == "Stage":
        changed |= set(_moved_sizes(size, running))
    fixed = [f"{OTHER_FIELD}: {', '.join(sorted(changed))}"] if changed else []
    return [*_cpu_reasons(size, running), *_memory_reasons(size, running), *fixed]


def not_resizable(vm: FlexVM, running: guest.Machine | None = None) -> dict[Resource, Why]:
    """Reason and message for each resource that no in-place resize can change; the first that applies."""
    cpu, memory = vm.spec.template.spec.domain.cpu, vm.spec.template.spec.domain.memory
    found: dict[Resource, Why] = {}
    if vm.spec.template.spec.architecture == "arm64":
        text = "arm64 machines of QEMU have neither pluggable vCPUs nor memory here: stop and start the machine"
        found = {"cpu": ("ArchUnsupported", text), "memory": ("ArchUnsupported", text)}
    if memory.hugepages is not None:
        found.setdefault("memory", ("HugepagesInPlace", _HUGEPAGES))
    if cpu.dedicated_cpu_placement:
        found.setdefault("cpu", ("DedicatedCPUs", _DEDICATED))
    if running is not None and running.max_sockets <= 1:
        found.setdefault("cpu", ("NoHotplugSlots", _NO_SOCKETS))
    if running is not None and running.max_memory <= running.min_memory:
        found.setdefault("memory", ("NoHotplugSlots", _NO_MEMORY))
    return found


_HUGEPAGES: Final = (
    "huge pages of a pod cannot be changed in place: only resizePolicy.fallback Migrate or Restart changes memory"
)
_DEDICATED: Final = (
    "CPUs of their own cannot be resized in place under the static CPU manager policy: only resizePolicy.fallback"
    " Migrate or Restart changes vCPUs"
)
_NO_SOCKETS: Final = "the machine was started with room for one socket: set cpu.maxSockets and restart it"
_NO_MEMORY: Final = (
    "the machine was started with no memory that can be plugged: set memory.maxGuest above memory.minGuest and"
    " restart it"
)


def _cpu_reasons(size: Wanted, running: guest.Machine) -> Iterator[str]:
    if size.architecture == "arm64" and size.sockets != running.sockets:
        yield ARM if size.sockets > running.sockets else REDUCED_SOCKETS
    elif size.sockets > running.max_sockets:
        yield HIGHER_SOCKETS


def _memory_reasons(size: Wanted, running: guest.Machine) -> Iterator[str]:
    if size.memory == running.memory:
        return
    if running.max_memory <= running.min_memory:
        yield NO_MEMORY_HOTPLUG
    elif size.memory < running.min_memory:
        yield LOWER_MEMORY
    elif size.memory > running.max_memory:
        yield HIGHER_MEMORY


def _moved_bounds(domain: Domain, size: Wanted, running: guest.Machine) -> Iterator[str]:
    """Bounds that somebody wrote; those that follow from the size are the running machine's own."""
    most, least = domain.memory.max_guest, domain.memory.min_guest
    sockets = domain.cpu.max_sockets
    if sockets is not None and running.max_sockets not in {sockets, size.max_sockets}:
        yield "domain.cpu.maxSockets"
    if most is not None and running.max_memory not in {most.value, size.max_memory}:
        yield "domain.memory.maxGuest"
    if least is not None and running.min_memory not in {least.value, size.min_memory}:
        yield "domain.memory.minGuest"


def _moved_sizes(size: Wanted, running: guest.Machine) -> Iterator[str]:
    """What is live otherwise, and waits where the cluster wants it so."""
    if size.sockets != running.sockets:
        yield "domain.cpu.sockets"
    if size.memory != running.memory:
        yield "domain.memory.guest"
