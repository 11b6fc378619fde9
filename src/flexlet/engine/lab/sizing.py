"""Plug and unplug: plan it, do it, see it in the guest.

All is planned before anything is done, so that a wish that cannot be granted changes nothing. What the guest
refuses while it is under way is reported with how far it came. A guest that was asked and said nothing may
still act later: then nothing else is tried, for in the end there would be less than was wanted.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec

from flexlet.core.lab import devices, plans
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import text_of
from flexlet.core.lab.unplugging import Unplugged
from flexlet.engine.lab import inside
from flexlet.engine.lab.inside import Inside
from flexlet.ports.guest import Guest
from flexlet.ports.hypervisor import Hypervisor

MemoryDevice = Literal["dimm", "virtio-mem"]
LOOK_S: Final = 0.25


class Size(msgspec.Struct, frozen=True):
    """CPUs and bytes of a machine, and what its guest makes of them, where that is known."""

    cpus: int
    memory: int
    inside: Inside | None = None


class Change(msgspec.Struct, frozen=True):
    """What a machine was and is; `refusal` if it is not what was wanted."""

    before: Size
    after: Size
    refusal: Refused | None = None


class Wish(msgspec.Struct, frozen=True):
    """How much to add or to take, and how long the guest may need for it."""

    cpus: int = 0
    memory: int = 0
    device: MemoryDevice = "dimm"
    patience_s: float = 60.0


Deed = Callable[[Hypervisor, Guest | None, Wish], Awaitable[Change | Refused]]


async def measure(hypervisor: Hypervisor, guest: Guest | None) -> Size:
    """What the machine is now."""
    cpus = len(devices.present(await hypervisor.cpus()))
    return Size(cpus, (await hypervisor.memory()).present, await inside.look(guest) if guest else None)


async def plug(hypervisor: Hypervisor, guest: Guest | None, wish: Wish) -> Change | Refused:
    """Add what is wished; with a guest to talk to, bring it online there."""
    slots = plans.cpus_to_plug(await hypervisor.cpus(), wish.cpus)
    memory = _plan_growth(await hypervisor.memory(), wish)
    if isinstance(slots, Refused):
        return slots
    if isinstance(memory, Refused):
        return memory
    before = await measure(hypervisor, guest)
    for slot in slots:
        await hypervisor.plug(slot)
    refusal = await _add_memory(hypervisor, memory, wish.patience_s)
    if guest and before.inside:
        await inside.follow(guest, before.inside, wish.cpus, wish.memory, wish.patience_s)
    return Change(before, await measure(hypervisor, guest), refusal)


async def unplug(hypervisor: Hypervisor, guest: Guest | None, wish: Wish) -> Change | Refused:
    """Take out what is wished, as far as the guest lets it go."""
    slots = plans.cpus_to_unplug(await hypervisor.cpus(), wish.cpus)
    memory = _plan_shrink(await hypervisor.memory(), wish)
    if isinstance(slots, Refused):
        return slots
    if isinstance(memory, Refused):
        return memory
    before = await measure(hypervisor, guest)
    refusal = await _take_cpus(hypervisor, slots, wish)
    if isinstance(memory, int):
        refusal = await _stretch(hypervisor, memory, wish.patience_s) or refusal
    else:
        refusal = await _take_dimms(hypervisor, memory, wish.patience_s) or refusal
    return Change(before, await measure(hypervisor, guest), refusal)


def _plan_growth(memory: Memory, wish: Wish) -> tuple[Dimm, ...] | int | Refused:
    if wish.device == "dimm" or not wish.memory:
        return plans.dimms_to_plug(memory, wish.memory) if wish.memory else ()
    return plans.elastic_size(memory, wish.memory)


def _plan_shrink(memory: Memory, wish: Wish) -> tuple[Dimm, ...] | int | Refused:
    if wish.device == "dimm" or not wish.memory:
        return plans.dimms_to_unplug(memory, wish.memory)
    return plans.elastic_size(memory, -wish.memory)


async def _add_memory(hypervisor: Hypervisor, plan: tuple[Dimm, ...] | int, patience_s: float) -> Refused | None:
    if isinstance(plan, int):
        return await _stretch(hypervisor, plan, patience_s)
    for dimm in plan:
        await hypervisor.plug(dimm)
    return None


async def _take_cpus(hypervisor: Hypervisor, candidates: tuple[CpuSlot, ...], wish: Wish) -> Refused | None:
    """Try candidates until enough are gone; one that is refused makes way for the next."""
    gone, last = 0, None
    for slot in candidates:
        if gone == wish.cpus:
            return None
        outcome = await hypervisor.unplug(slot, wish.patience_s)
        if isinstance(outcome, Unplugged):
            gone += 1
            continue
        last = outcome
        if outcome.reason == "TimedOut":
            break
    return _shortfall(f"{gone} of {wish.cpus} CPUs", last) if gone < wish.cpus else None


async def _take_dimms(hypervisor: Hypervisor, planned: tuple[Dimm, ...], patience_s: float) -> Refused | None:
    """Take the planned modules; for one that is refused, another of its size."""
    memory = await hypervisor.memory()
    tried, waiting, gone, last = set(planned), list(planned), 0, None
    while waiting:
        dimm = waiting.pop(0)
        outcome = await hypervisor.unplug(dimm, patience_s)
        if isinstance(outcome, Unplugged):
            gone += dimm.size
            continue
        last = outcome
        if outcome.reason == "TimedOut":
            break
        spare = plans.spare(memory, dimm, tried)
        if spare:
            tried.add(spare)
            waiting.append(spare)
    wanted = sum(dimm.size for dimm in planned)
    return _shortfall(f"{text_of(gone)} of {text_of(wanted)}", last) if gone < wanted else None


async def _stretch(hypervisor: Hypervisor, size: int, patience_s: float) -> Refused | None:
    """Ask elastic memory for a size and watch it; it goes on trying when we have stopped looking."""
    await hypervisor.ask_elastic(size)
    elastic = (await hypervisor.memory()).elastic
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            while elastic and elastic.size != size:
                await asyncio.sleep(LOOK_S)
                elastic = (await hypervisor.memory()).elastic
    if elastic is None or elastic.size == size:
        return None
    return Refused(
        "TimedOut",
        f"virtio-mem holds {text_of(elastic.size)} and not {text_of(size)} after {patience_s:g} s;"
        " the guest goes on trying",
    )


def _shortfall(done: str, last: Refused | None) -> Refused:
    reason, message = (last.reason, last.message) if last else ("TooFew", "there is nothing more to take")
    return Refused(reason, f"{done} unplugged: {message}")
