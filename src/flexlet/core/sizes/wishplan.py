"""What a wish for another size of a node would mean, for ``--dry-run``: computed from what the API shows now.

The node has the last word, and pods come and go; so this is a forecast.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.objects import NodeSizeSpec
from flexlet.core.resources.amounts import as_integer
from flexlet.core.sizes.nodes import Figures
from flexlet.core.sizes.words import amount

Verdict = Literal["stays", "deflate", "inflate", "partial", "wait", "plug", "refused"]
AT_ONCE: tuple[Verdict, ...] = ("stays", "deflate", "inflate", "plug")


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """One resource: where it stands, where it would go, and how. Whole numbers: milli-CPU, bytes."""

    resource: str
    allocatable: int
    balloon: int
    goal: int
    """The size that the balloon would have in the end."""
    verdict: Verdict
    amount: int = 0
    """By how much."""
    missing: int = 0
    """How much of the wish cannot be had now."""
    holder: str = ""
    """Who has what is missing."""

    @property
    def effective(self) -> tuple[int, int]:
        """Before and after."""
        grown = self.amount if self.verdict == "plug" else 0
        return self.allocatable - self.balloon, self.allocatable + grown - self.goal


def forecast(figures: dict[str, Figures], spec: NodeSizeSpec) -> list[Forecast]:
    """What would be done for each resource that is asked for."""
    return list(_forecasts(figures, spec))


def _forecasts(figures: dict[str, Figures], spec: NodeSizeSpec) -> Iterator[Forecast]:
    target = spec.target
    if target is None:
        return
    for name in sizes.RESOURCES:
        one = figures[name]
        whole, held, used = (as_integer(name, each) for each in (one.allocatable, one.balloon, one.used))
        if target.effective and name in target.effective:
            wanted = whole - as_integer(name, target.effective[name])
        elif target.balloon and name in target.balloon:
            wanted = as_integer(name, target.balloon[name])
        else:
            continue
        yield _one(name, whole, held, used, wanted, spec)


def _one(name: str, whole: int, held: int, used: int, wanted: int, spec: NodeSizeSpec) -> Forecast:
    goal = max(wanted, sizes.FLOOR[name])
    seen = Forecast(resource=name, allocatable=whole, balloon=held, goal=goal, verdict="stays")
    if wanted < 0:
        return _beyond(seen, -wanted, spec)
    need = goal - held
    if need <= 0:
        return msgspec.structs.replace(seen, verdict="deflate", amount=-need) if need else seen
    least = sizes.of(spec.min_effective)
    return _inflated(seen, need, room=whole - held - used, may=whole - held - least[name], spec=spec)


def _beyond(seen: Forecast, short: int, spec: NodeSizeSpec) -> Forecast:
    """More than the machine has: the balloon gives what it can."""
    seen = msgspec.structs.replace(seen, goal=min(seen.goal, seen.balloon))
    if spec.machine is not None and spec.via in {"Hardware", "Auto"}:
        return msgspec.structs.replace(seen, verdict="plug", amount=short)
    return msgspec.structs.replace(seen, verdict="refused", missing=short, holder="the machine has {} too little")


def _inflated(seen: Forecast, need: int, *, room: int, may: int, spec: NodeSizeSpec) -> Forecast:
    free = min(room, may)
    seen = msgspec.structs.replace(
        seen, holder="pods have {} of it" if room <= may else "minEffective keeps {} of it"
    )
    if spec.on_insufficient == "Partial":
        grant = min(need, room - sizes.CRITICAL_RESERVE[seen.resource], may)
        if grant < min(need, sizes.GRAIN[seen.resource]):
            return _unchanged(seen, "refused", need - max(0, free))
        verdict: Verdict = "inflate" if grant == need else "partial"
        goal = seen.balloon + grant
        return msgspec.structs.replace(seen, verdict=verdict, goal=goal, amount=grant, missing=need - grant)
    if need <= free:
        return msgspec.structs.replace(seen, verdict="inflate", amount=need)
    waits = spec.on_insufficient == "Defer" and need <= may
    return _unchanged(seen, "wait" if waits else "refused", need - max(0, free))


def _unchanged(seen: Forecast, verdict: Verdict, missing: int) -> Forecast:
    return msgspec.structs.replace(seen, verdict=verdict, goal=seen.balloon, missing=missing)


def value(seen: Forecast) -> dict[str, Any]:
    """For programs: amounts as Kubernetes writes them."""
    before, after = (sizes.quantity(seen.resource, each) for each in seen.effective)
    figures = {key: getattr(seen, key) for key in ("allocatable", "balloon", "goal", "amount", "missing")}
    written = {key: sizes.quantity(seen.resource, each) for key, each in figures.items()}
    return {"resource": seen.resource, "verdict": seen.verdict, "before": before, "after": after, **written}


def words(seen: Forecast) -> str:
    """``deflate by 4``; what is missing, if it would not be done at once."""
    lacks = amount(seen.resource, sizes.quantity(seen.resource, seen.missing))
    by = amount(seen.resource, sizes.quantity(seen.resource, seen.amount))
    match seen.verdict:
        case "stays":
            return "stays"
        case "deflate" | "inflate":
            return f"{seen.verdict} by {by}"
        case "plug":
            return f"deflate, then plug {by} into the machine"
        case "partial":
            return f"inflate by {by}, {lacks} less than asked for"
        case "wait":
            return f"wait until {lacks} more is free"
        case "refused":
            return f"refused: {seen.holder.format(lacks)}"
