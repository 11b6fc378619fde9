"""Why a virtual machine is as big as it is: from the wish to the guest, link by link, and where it stops."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from flexlet.api import age, decode
from flexlet.api.pod import Container, ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.sizes import words
from flexlet.core.sizes.node import Event
from flexlet.core.sizes.vmpower import strategy
from flexlet.core.sizes.vmresize import condition
from flexlet.core.sizes.vms import VmSizes, of_vm
from flexlet.core.vm import guest, names
from flexlet.core.vm.objects import FlexVM, Resize
from flexlet.core.vm.overhead import terms
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import wanted
from flexlet.errors import InputError

DEFER: Final = "5m"
_INDENT: Final = "  "


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """All that a story is told from."""

    vm: FlexVM
    machine: guest.Machine | None = None
    headroom: Mapping[str, Quantity] | None = None
    events: tuple[Event, ...] = ()
    settings: Settings = Settings()


def story(known: Known, now: float) -> Iterator[str]:
    """The chain, and below it what was told lately."""
    sizes = of_vm(known.vm)
    yield from _wish(known.vm, sizes)
    yield from _bounds(known.machine)
    yield from _pod(known, sizes)
    yield from _guest(known.vm, sizes)
    yield from _resize(known.vm.status.resize or Resize(), now)
    yield f"Waits for:  {waits_for(known)}"
    yield from _conditions(known.vm)


def value(known: Known) -> dict[str, Any]:
    """The same for programs."""
    vm, asked = known.vm, wanted(known.vm, known.settings)
    found: dict[str, Any] = decode.to_value(of_vm(vm))
    return found | {
        "need": decode.to_value(need(asked, asked.vcpus, asked.memory, known.settings)),
        "overhead": dict(terms(asked, asked.vcpus, asked.memory, known.settings)),
        "machine": msgspec.to_builtins(known.machine),
        "resize": decode.to_value(vm.status.resize),
        "waitsFor": waits_for(known),
        "events": [
            {"at": each.at, "type": each.type, "reason": each.reason, "message": each.message, "count": each.count}
            for each in known.events
        ],
    }


def waits_for(known: Known) -> str:
    """What has to happen next, and who does it."""
    vm, resize = known.vm, known.vm.status.resize or Resize()
    policy = vm.spec.resize_policy
    if (needed := condition(vm, "RestartRequired")) is not None:
        return f"a restart, `flexlet vm restart {vm.metadata.name}`: {needed.message}"
    match resize.phase:
        case "PodGrowing":
            return "the node, to grant the pod its new size and to put it in force"
        case "PodDeferred":
            then = (
                "" if policy.fallback == "Wait" else f"; after {policy.defer_timeout or DEFER}: {policy.fallback}"
            )
            return f"room on node {vm.status.node_name}{_room(known)}{then}"
        case "GuestChanging":
            return "the guest, to take or to give back what its machine offers or wants"
        case "PodShrinking":
            return "the node, to take back what the guest no longer has"
        case "Migrating":
            return "its move to another node"
        case "Failed":
            return f"somebody who asks again: `flexlet resize vm {vm.metadata.name}`, after what the message says"
        case _:
            return "nothing"


def _room(known: Known) -> str:
    """How much is asked for, and how much there is."""
    pod = known.vm.status.pod
    if known.headroom is None or pod is None:
        return ""
    lacking = []
    for name in (CPU, MEMORY):
        more = pod.desired.get(name, ZERO) - pod.allocated.get(name, ZERO)
        if more > (free := max(known.headroom.get(name, ZERO), ZERO)):
            texts = words.amount(name, more), words.amount(name, free)
            lacking.append(f"{name} {texts[0]} more, of which {texts[1]} are free")
    return f": {', '.join(lacking)}" if lacking else ""


def _wish(vm: FlexVM, sizes: VmSizes) -> Iterator[str]:
    policy = vm.spec.resize_policy
    size = f"{sizes.vcpus.wanted} vCPUs, {words.amount(MEMORY, sizes.memory.wanted)}"
    yield f"Wanted:     {size}; runStrategy {strategy(vm)}, fallback {policy.fallback}"


def _bounds(machine: guest.Machine | None) -> Iterator[str]:
    if machine is None:
        return
    each = machine.cores * machine.threads
    least, most = (words.amount(MEMORY, Quantity.of_bytes(n)) for n in (machine.min_memory, machine.max_memory))
    yield f"Started:    room for {machine.max_sockets * each} vCPUs, and memory from {least} to {most}"


def _pod(known: Known, sizes: VmSizes) -> Iterator[str]:
    asked = wanted(known.vm, known.settings)
    found = need(asked, asked.vcpus, asked.memory, known.settings)
    yield f"Pod needs:  {_needs(found)}"
    parts = terms(asked, asked.vcpus, asked.memory, known.settings)
    listed = ", ".join(f"{name} {words.amount(MEMORY, Quantity.of_bytes(size))}" for name, size in parts)
    total = words.amount(MEMORY, Quantity.of_bytes(sum(size for _, size in parts)))
    yield f"{_INDENT}memory beside the guest's: {total} ({listed})"
    if not sizes.pod.name:
        return
    yield f"Pod:        {sizes.pod.name} on {sizes.node or 'no node yet'}"
    rows = (("asked for", sizes.pod.desired), ("granted", sizes.pod.allocated), ("in force", sizes.pod.actual))
    yield from (f"{_INDENT}{title + ':':<11}{_amounts(amounts)}" for title, amounts in rows)


def _needs(found: Need) -> str:
    text = f"cpu {Quantity.of_milli(found.cpu_m)}, memory {Quantity.of_bytes(found.memory)}"
    limits = [
        f"cpu {Quantity.of_milli(found.cpu_limit_m)}" if found.cpu_limit_m is not None else "",
        f"memory {Quantity.of_bytes(found.memory_limit)}" if found.memory_limit is not None else "",
    ]
    shown = ", ".join(filter(None, limits))
    return f"{text}; limits {shown}" if shown else text


def _amounts(amounts: ResourceList) -> str:
    return ", ".join(f"{name} {amounts[name]}" for name in (CPU, MEMORY) if name in amounts) or "-"


def _guest(vm: FlexVM, sizes: VmSizes) -> Iterator[str]:
    held = vm.status.memory
    if sizes.vcpus.now is None or held is None:
        yield f"Guest:      {sizes.status}; nobody has said how big it is"
        return
    text = f"{sizes.vcpus.now} vCPUs, {words.amount(MEMORY, held.guest_current)}"
    if held.guest_requested is not None and held.guest_requested != held.guest_current:
        text += f", on its way to {words.amount(MEMORY, held.guest_requested)}"
    yield f"Guest:      {text}; started with {words.amount(MEMORY, held.guest_at_boot)}"


def _resize(resize: Resize, now: float) -> Iterator[str]:
    since = f" for {age.since(resize.started_at, now)}" if resize.started_at and not resize.finished_at else ""
    title = " ".join(filter(None, (resize.direction, resize.phase)))
    yield f"Resize:     {title}{since}" + (f": {resize.message}" if resize.message else "")
    for each in resize.setbacks:
        held = words.amount(each.resource, each.held)
        yield f"{_INDENT}{each.resource} held at {held}: {each.reason}: {each.message}"


def _conditions(vm: FlexVM) -> Iterator[str]:
    for each in vm.status.conditions:
        text = ": ".join(filter(None, (each.reason, each.message)))
        yield f"{_INDENT}{each.type}={each.status}" + (f" {text}" if text else "")


def newest(events: Sequence[Event], count: int) -> tuple[Event, ...]:
    """So many of the newest; of a pod's resize only what is about the machine."""
    return tuple(msgspec.structs.replace(each, message=_brief(each.message)) for each in events[-count:])


def _brief(message: str) -> str:
    """``Pod resize started: cpu 300m, memory 785Mi``, without what nodes tell about the other containers."""
    title, _, text = message.partition(": ")
    try:
        told = decode.from_json(text, _Resized)
    except InputError:
        return message
    found = next((each.resources.requests for each in told.containers if each.name == names.CONTAINER), {})
    return f"{title}: {_amounts(found)}" if found else message


class _Resized(msgspec.Struct):
    """What a node tells of a resize."""

    containers: list[Container]
