"""Lines of the log about resizes: allocated, actuated, deferred, infeasible, failed."""

from collections.abc import Callable, Iterator, Mapping

from flexlet.api.meta import Condition
from flexlet.api.pod import ResourceRequirements
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.conditions import ERROR

Line = Callable[..., str]


def lines(known: PodRecord, record: PodRecord, line: Line) -> Iterator[str]:
    """What changed about the size of a pod that was there before."""
    meta = record.pod.metadata
    whose = {"pod": f"{meta.namespace}/{meta.name}", "uid": meta.uid, "generation": meta.generation}
    is_granted = known.admission == ADMITTED and known.allocation != record.allocation
    if is_granted and record.allocation is not None:
        yield line("resize allocated", **whose, resources=sizes(record.allocation))
    old, new = known.resize, record.resize
    if _words(old.pending) != _words(new.pending) and new.pending is not None:
        yield line(f"resize {new.pending.reason.lower()}", **whose, message=new.pending.message)
    if new.in_progress is not None and new.in_progress.reason == ERROR:
        if _words(old.in_progress) != _words(new.in_progress):
            yield line("resize failed", **whose, message=new.in_progress.message)
    elif new.in_progress is None and (is_granted or old.in_progress is not None) and not record.stopped:
        yield line("resize actuated", **whose)


def sizes(allocation: Allocation) -> str:
    """``app cpu 500m/1, memory 64Mi`` are requests and, after the stroke, limits."""
    named = {"pod": allocation.pod} if allocation.pod is not None else {}
    found = [f"{name} {_amounts(each)}" for name, each in (named | dict(allocation.containers)).items()]
    return "; ".join(found)


def _amounts(given: ResourceRequirements) -> str:
    names = [*given.requests, *(name for name in given.limits if name not in given.requests)]
    return ", ".join(f"{name} {_pair(name, given.requests, given.limits)}" for name in names) or "nothing"


def _pair(name: str, requests: Mapping[str, object], limits: Mapping[str, object]) -> str:
    asked = str(requests.get(name, "-"))
    return f"{asked}/{limits[name]}" if name in limits else asked


def _words(condition: Condition | None) -> tuple[str, str] | None:
    return None if condition is None else (condition.reason, condition.message)
