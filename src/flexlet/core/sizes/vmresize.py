"""Another size for a virtual machine: what to write into its FlexVM, and what has become of it."""

from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.meta import Condition
from flexlet.api.patch import merge
from flexlet.api.quantity import Quantity
from flexlet.core.sizes.vms import vcpus_wanted
from flexlet.core.sizes.wish import PENDING, Outcome
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVM, Resize, Setback
from flexlet.core.vm.wanted import topology
from flexlet.errors import ConfigError

_UNSEEN: Final = "the controllers have not looked at it yet"
_FAULTS: Final = frozenset({"PlugFailed", "ActuationError"})
"""Setbacks that nobody decided; all others are refusals, with the reason of whoever refuses."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asks for; what is not named stays as it is."""

    vcpus: int | None = None
    memory: Quantity | None = None


def patch(vm: FlexVM, wish: Wish, request: str = "") -> dict[str, Any]:
    """A merge patch of the spec; `request` tells this wish from others like it.

    Raises:
        ConfigError: so many vCPUs are no whole number of sockets.
    """
    domain: dict[str, Any] = {}
    if wish.vcpus is not None:
        domain["cpu"] = _cpu(vm, wish.vcpus)
    if wish.memory is not None:
        domain["memory"] = {"guest": str(wish.memory)}
    body: dict[str, Any] = {"spec": {"template": {"spec": {"domain": domain}}}}
    return body | ({"metadata": {"annotations": {names.REQUESTED: request}}} if request else {})


def _cpu(vm: FlexVM, vcpus: int) -> dict[str, int]:
    """By the knob that the machine uses; only whole sockets come and go."""
    domain = vm.spec.template.spec.domain
    if domain.cpu.vcpus is not None:
        return {"vcpus": vcpus}
    _, cores, threads = topology(domain)
    each = cores * threads
    if vcpus % each:
        near = sorted({max(each, vcpus - vcpus % each), vcpus - vcpus % each + each})
        hint = " or ".join(map(str, near))
        text = f"its sockets have {each} vCPUs each (cores x threads), and only whole sockets come and go"
        raise ConfigError(f"VM {vm.metadata.name} cannot have {vcpus} vCPUs: {text}; ask for {hint}")
    return {"sockets": vcpus // each}


def patched(vm: FlexVM, wish: Wish) -> FlexVM:
    """The machine as it would be after such a patch."""
    return decode.from_value(merge.apply(decode.to_value(vm), patch(vm, wish)), FlexVM)


def outcome(vm: FlexVM) -> Outcome:
    """What has become of the wish that was made last."""
    status, resize = vm.status, vm.status.resize or Resize()
    if status.observed_generation < vm.metadata.generation:
        return Outcome("Waiting", PENDING, _UNSEEN)
    if (needed := condition(vm, "RestartRequired")) is not None:
        return Outcome("Refused", "RestartRequired", needed.message)
    if status.printable_status == "Stopped":
        return Outcome("Done", "Stopped", "the machine does not run; it will start with this size")
    if resize.request != vm.metadata.annotations.get(names.REQUESTED, ""):
        return Outcome("Waiting", PENDING, _UNSEEN)
    if resize.phase == "PodDeferred":
        return Outcome("Refused", "Deferred", resize.message)
    if resize.phase == "Failed":
        return _failed(resize)
    if resize.phase == "Done" or (resize.phase == "Idle" and _is_there(vm)):
        return _done(vm, resize)
    return Outcome("Waiting", resize.phase, resize.message)


def _failed(resize: Resize) -> Outcome:
    setback = next((each for each in resize.setbacks if each.reason), Setback())
    message = resize.message or setback.message
    if not setback.reason or setback.reason in _FAULTS:
        return Outcome("Failed", setback.reason or "Failed", message)
    return Outcome("Refused", setback.reason, message)


def _done(vm: FlexVM, resize: Resize) -> Outcome:
    """The end of a resize, which need not be what was wanted."""
    partial = condition(vm, "PartiallyResized")
    if partial is not None:
        return Outcome("Refused", partial.reason or "PartiallyResized", partial.message or resize.message)
    return Outcome("Done", "InForce", resize.message)


def _is_there(vm: FlexVM) -> bool:
    """Whether the guest has as many vCPUs as it shall have: then nothing had to be done."""
    now = vm.status.current_cpu_topology
    return now is not None and now.sockets * now.cores * now.threads == vcpus_wanted(vm)


def condition(vm: FlexVM, kind: str) -> Condition | None:
    """A condition that holds."""
    return next((each for each in vm.status.conditions if each.type == kind and each.status == "True"), None)
