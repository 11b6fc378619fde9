"""What a wish for another size of a virtual machine would come to, step by step, before anybody is asked.

The steps are those of the controller: a pod is never smaller than its guest needs it, so that it grows first and
shrinks last, and each resource goes its own way.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.sizes import words
from flexlet.core.sizes.vmresize import Wish, patched
from flexlet.core.sizes.vms import vcpus_now, vcpus_wanted
from flexlet.core.vm import guest
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.validation import complaints, not_resizable, restart_reasons
from flexlet.core.vm.wanted import Wanted, wanted

Verdict = Literal["Stopped", "InPlace", "Unchanged", "Deferred", "NotResizable", "RestartRequired", "Invalid"]
AT_ONCE: Final = frozenset({"Stopped", "InPlace", "Unchanged"})


class Step(msgspec.Struct, frozen=True):
    """One thing that is done: to the pod's requests, or to the guest."""

    what: Literal["pod", "guest"]
    before: dict[str, Quantity]
    after: dict[str, Quantity]

    def text(self) -> str:
        """``cpu 400m -> 800m, memory 8520Mi -> 8552Mi``; what stays is left out."""
        return ", ".join(
            f"{name} {self.before[name]} -> {after}"
            for name, after in self.after.items()
            if self.before[name] != after
        )


class Plan(msgspec.Struct, frozen=True):
    """All steps, and whether they can be taken."""

    verdict: Verdict
    reasons: tuple[str, ...]
    steps: tuple[Step, ...]


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the FlexVM itself."""

    machine: guest.Machine | None = None
    """What its launcher has started; None: it does not run."""
    headroom: Mapping[str, Quantity] | None = None
    """What one more pod could ask of the node; None: nobody knows."""
    settings: Settings = Settings()


def plan(vm: FlexVM, wish: Wish, around: Circumstances) -> Plan:
    """What would be done for a wish, and what is in its way."""
    new = patched(vm, wish)
    size = wanted(new, around.settings)
    steps = tuple(_steps(size, _now(vm, around.settings), (size.vcpus, size.memory), around.settings))
    verdict, reasons = _verdict(vm, new, steps, around)
    return Plan(verdict, reasons, steps)


def objections(vm: FlexVM, wish: Wish, settings: Settings) -> tuple[str, ...]:
    """Why no machine can be like that; what was wrong before does not count."""
    old = {str(each) for each in complaints(vm, settings)}
    return tuple(text for each in complaints(patched(vm, wish), settings) if (text := str(each)) not in old)


def _now(vm: FlexVM, settings: Settings) -> tuple[int, int]:
    """Its vCPUs and bytes; of one that does not run, what it would have."""
    vcpus = vcpus_now(vm)
    held = vm.status.memory.guest_current if vm.status.memory else None
    memory = held.value if held is not None else wanted(vm, settings).memory
    return vcpus if vcpus is not None else vcpus_wanted(vm), memory


def _steps(size: Wanted, now: tuple[int, int], target: tuple[int, int], settings: Settings) -> Iterator[Step]:
    """First vCPUs that come, memory that comes, vCPUs that go, memory that goes: each with its pod."""
    vcpus, memory = now
    if target[0] > vcpus:
        yield from _grow(size, (vcpus, memory), (target[0], memory), settings)
        vcpus = target[0]
    if target[1] > memory:
        yield from _grow(size, (vcpus, memory), (vcpus, target[1]), settings)
        memory = target[1]
    if (vcpus, memory) != target:
        yield Step("guest", _guest(vcpus, memory), _guest(*target))
        yield from _pod(need(size, vcpus, memory, settings), need(size, *target, settings))


def _grow(size: Wanted, now: tuple[int, int], then: tuple[int, int], settings: Settings) -> Iterator[Step]:
    yield from _pod(need(size, *now, settings), need(size, *then, settings))
    yield Step("guest", _guest(*now), _guest(*then))


def _pod(before: Need, after: Need) -> Iterator[Step]:
    step = Step("pod", _requests(before), _requests(after))
    if step.before != step.after:
        yield step


def _requests(of: Need) -> dict[str, Quantity]:
    return {CPU: Quantity.of_milli(of.cpu_m), MEMORY: Quantity.of_bytes(of.memory)}


def _guest(vcpus: int, memory: int) -> dict[str, Quantity]:
    return {"vcpus": Quantity.of_milli(1000 * vcpus), MEMORY: Quantity.of_bytes(memory)}


def _verdict(
    vm: FlexVM, new: FlexVM, steps: tuple[Step, ...], around: Circumstances
) -> tuple[Verdict, tuple[str, ...]]:
    """The first thing that is in the way."""
    wrong = [str(each) for each in complaints(new, around.settings)]
    if wrong:
        return "Invalid", tuple(wrong)
    if vm.status.printable_status == "Stopped":
        return "Stopped", ("the machine does not run; it will start with this size",)
    if not steps:
        return "Unchanged", ()
    running = around.machine
    if running is not None and (reasons := restart_reasons(new, running, around.settings)):
        return "RestartRequired", tuple(reasons)
    if blocked := _blocked(new, steps, running):
        return "NotResizable", blocked
    return ("Deferred", lacks) if (lacks := _lacks(steps, around.headroom)) else ("InPlace", ())


def _blocked(new: FlexVM, steps: tuple[Step, ...], running: guest.Machine | None) -> tuple[str, ...]:
    ways = {"vcpus": "cpu", MEMORY: "memory"}
    moved = {ways[key] for each in steps if each.what == "guest" for key in each.after if _moves(each, key)}
    return tuple(f"{why[0]}: {why[1]}" for key, why in not_resizable(new, running).items() if key in moved)


def _moves(step: Step, key: str) -> bool:
    return step.before[key] != step.after[key]


def _lacks(steps: tuple[Step, ...], headroom: Mapping[str, Quantity] | None) -> tuple[str, ...]:
    """What the node has too little of for the largest size that the pod passes through."""
    pods = [each for each in steps if each.what == "pod"]
    if headroom is None or not pods:
        return ()
    found = []
    for name in (CPU, MEMORY):
        more = max(each.after[name] for each in pods) - pods[0].before[name]
        free = headroom.get(name, ZERO)
        if more > ZERO and more > free:
            texts = words.amount(name, more), words.amount(name, max(free, ZERO))
            found.append(f"{name}: the pod needs {texts[0]} more, and its node has {texts[1]} free")
    return tuple(found)
