"""Power switches of a virtual machine: what to write, and whether it has come true."""

from typing import Any, Final, Literal

from flexlet.core.sizes.vmresize import condition
from flexlet.core.sizes.wish import PENDING, Outcome
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVM, RunStrategy

Switch = Literal["Start", "Stop", "Restart"]
_BY_REQUEST: Final = frozenset({"Manual", "RerunOnFailure"})
"""Strategies that say nothing about whether the machine runs now."""


def strategy(vm: FlexVM) -> RunStrategy:
    """The one in force."""
    if vm.spec.run_strategy is not None:
        return vm.spec.run_strategy
    return "Halted" if vm.spec.running is False else "Always"


def patch(vm: FlexVM, switch: Switch, now: str) -> dict[str, Any]:
    """A merge patch; a strategy that decides by itself is changed, others get a request that is obeyed once."""
    if switch == "Restart" or strategy(vm) in _BY_REQUEST:
        return {"metadata": {"annotations": {names.POWER: f"{switch}@{now}"}}}
    wanted = "Always" if switch == "Start" else "Halted"
    # Both fields at once would contradict each other.
    return {"spec": {"runStrategy": wanted, "running": None}}


def outcome(vm: FlexVM, switch: Switch, before: str) -> Outcome:
    """How far it is; `before` is the uid of the pod that the machine was in."""
    status = vm.status
    request = vm.metadata.annotations.get(names.POWER, "")
    if status.observed_generation < vm.metadata.generation or (switch == "Restart" and status.power != request):
        return Outcome("Waiting", PENDING, "the controllers have not looked at it yet")
    state = status.printable_status or "Unknown"
    if switch == "Stop":
        return Outcome("Done" if state == "Stopped" else "Waiting", state)
    same = switch == "Restart" and status.pod is not None and status.pod.uid == before
    if condition(vm, "Ready") is not None and not same:
        return Outcome("Done", state)
    return Outcome("Waiting", state, _why(vm))


def _why(vm: FlexVM) -> str:
    """What the controllers say of a machine that is not ready."""
    return next((each.message for each in vm.status.conditions if each.type == "Ready"), "")
