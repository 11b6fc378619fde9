"""Whether sizes and policies of a FlexVM can be had as written, in KubeVirt's words where it has some."""

from collections.abc import Iterator
from typing import Final

from flexlet.api.duration import parse as parse_duration
from flexlet.api.fielderrors import FieldError, forbidden, invalid, not_supported, required
from flexlet.api.quantity import Quantity
from flexlet.api.units import MIB
from flexlet.core.vm.objects import Domain, VmResizePolicy
from flexlet.core.vm.wanted import MAX_VCPUS, page_size
from flexlet.core.vm.wish import Wanted
from flexlet.errors import InputError

DOMAIN: Final = "spec.template.spec.domain"
ALIGNMENT: Final = 2 * MIB
DIMM_ALIGNMENT: Final = 128 * MIB
PAGE_SIZES: Final = ("2Mi", "1Gi")


def alignment(domain: Domain) -> int:
    """What sizes of the guest's memory are multiples of."""
    base = DIMM_ALIGNMENT if domain.memory.device == "pc-dimm" else ALIGNMENT
    return max(base, page_size(domain.memory))


def cpu_complaints(domain: Domain, size: Wanted) -> Iterator[FieldError]:
    """Numbers of vCPUs that no machine has."""
    cpu, path = domain.cpu, f"{DOMAIN}.cpu"
    topology = {"sockets": cpu.sockets, "cores": cpu.cores, "threads": cpu.threads}
    for name, value in topology.items() | {("vcpus", cpu.vcpus), ("maxSockets", cpu.max_sockets)}:
        if value is not None and value < 1:
            yield invalid(f"{path}.{name}", value, "must be greater than 0")
    if cpu.vcpus is not None and any(value is not None for value in topology.values()):
        detail = "vcpus is that many sockets of one core: give either vcpus, or sockets, cores and threads"
        yield forbidden(f"{path}.vcpus", detail)
    if size.max_vcpus > MAX_VCPUS:
        detail = f"makes {size.max_vcpus} vCPUs of at most {MAX_VCPUS}: use at most {MAX_VCPUS // size.per_socket}"
        yield invalid(f"{path}.maxSockets", size.max_sockets, detail)
    if cpu.isolate_emulator_thread and not cpu.dedicated_cpu_placement:
        detail = "IsolateEmulatorThread should be only set in combination with DedicatedCPUPlacement"
        yield invalid(f"{path}.isolateEmulatorThread", value=True, detail=detail)


def memory_complaints(domain: Domain, size: Wanted) -> Iterator[FieldError]:
    """Sizes of memory that QEMU or the node cannot give."""
    path = f"{DOMAIN}.memory"
    if size.memory <= 0:
        yield required(f"{path}.guest", "say how much memory the guest has, for example guest: 2Gi")
        return
    if domain.memory.hugepages is not None and domain.memory.hugepages.page_size not in PAGE_SIZES:
        yield not_supported(f"{path}.hugepages.pageSize", domain.memory.hugepages.page_size, PAGE_SIZES)
        return
    unit = alignment(domain)
    most, least = domain.memory.max_guest, domain.memory.min_guest
    named = (("guest", "Guest memory", Quantity.of_bytes(size.memory)), ("maxGuest", "MaxGuest", most))
    for field, title, given in (*named, ("minGuest", "MinGuest", least)):
        if given is not None and (given.value % unit or given.value <= 0):
            yield invalid(f"{path}.{field}", given, _unaligned(title, given.value, unit))
    if most is not None and least is not None and least > most:
        yield invalid(
            f"{path}.minGuest", least, f"must not be more than maxGuest {most}: lower it or raise maxGuest"
        )


def _unaligned(title: str, value: int, unit: int) -> str:
    below, above = value // unit * unit, -(-value // unit) * unit
    near = " or ".join(str(Quantity.of_bytes(each)) for each in (below, max(above, unit)) if each > 0)
    return f"{title} must be {Quantity.of_bytes(unit)} aligned: use {near}"


def resource_complaints(domain: Domain) -> Iterator[FieldError]:
    """Amounts that no pod may have."""
    given, path = domain.resources, f"{DOMAIN}.resources"
    for name, limit in given.limits.items():
        asked = given.requests.get(name)
        if asked is not None and asked > limit:
            yield invalid(f"{path}.requests.{name}", asked, f"is greater than {path}.limits.{name} '{limit}'")
    for kind, amounts in (("requests", given.requests), ("limits", given.limits)):
        for name, amount in amounts.items():
            if name not in {"cpu", "memory"}:
                yield not_supported(f"{path}.{kind}", name, ("cpu", "memory"))
            elif amount.nano < 0:
                yield invalid(f"{path}.{kind}.{name}", amount, "must be greater than or equal to 0")


def unsupported(domain: Domain) -> Iterator[FieldError]:
    """What our launcher does not start, and would otherwise leave out in silence."""
    if domain.launch_security is not None:
        yield forbidden(f"{DOMAIN}.launchSecurity", "encrypted machines are not supported: remove it")
    if domain.devices.tpm is not None:
        yield forbidden(f"{DOMAIN}.devices.tpm", "a TPM is not supported: remove it")


def policy_complaints(policy: VmResizePolicy) -> Iterator[FieldError]:
    """Timeouts that are none."""
    for name, text in (("deferTimeout", policy.defer_timeout), ("unplugTimeout", policy.unplug_timeout)):
        if text and _seconds(text) <= 0:
            yield invalid(
                f"spec.resizePolicy.{name}", text, "must be a duration above zero, for example 5m or 90s"
            )


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except InputError:
        return 0.0
