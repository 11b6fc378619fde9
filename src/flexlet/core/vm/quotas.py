"""What a quota is charged while a machine changes its size: in place, and by a second pod."""

from typing import Literal

import msgspec

from flexlet.core.vm.podsize import Need

Charge = Literal["requests.cpu", "requests.memory", "limits.cpu", "limits.memory"]
Charges = dict[Charge, int]
CHARGES: tuple[Charge, ...] = ("requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


class Peaks(msgspec.Struct, frozen=True):
    """The most that is ever charged, by each way."""

    in_place: Charges
    migration: Charges


def charges(need: Need) -> Charges:
    """What one pod counts; a limit that is not set counts nothing."""
    amounts = (need.cpu_m, need.memory, need.cpu_limit_m, need.memory_limit)
    return {name: amount or 0 for name, amount in zip(CHARGES, amounts, strict=True)}


def peaks(used: Charges, before: Need, after: Need) -> Peaks:
    """The most of both ways; `used` has the pod as it is.

    A pod counts with the larger of spec, allocated and actual: a grow in place is charged its difference before it
    happens, a shrink stays charged until the node reports it. Two pods count twice.
    """
    old, new = charges(before), charges(after)
    return Peaks(
        {name: used.get(name, 0) + max(0, new[name] - old[name]) for name in CHARGES},
        {name: used.get(name, 0) + new[name] for name in CHARGES},
    )


def exceeded(peak: Charges, hard: Charges) -> list[Charge]:
    """What a quota would refuse."""
    return [name for name in CHARGES if name in hard and peak[name] > hard[name]]
