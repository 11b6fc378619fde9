"""What people are told of a resize: everything that a status is the first to say."""

from collections.abc import Iterator

from flexlet.core.actions import RecordEvent
from flexlet.core.resources.names import CPU
from flexlet.core.vm import aim, fallback, names, orders
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.objects import FlexVM, Resize, Setback

_REFUSED = frozenset({fallback.CAPACITY, fallback.INFEASIBLE, fallback.AWAITING, "HugepagesInPlace"})


def told(vm: FlexVM, new: Resize | None) -> list[RecordEvent]:
    """The events between two states of a resize."""
    if new is None or new == vm.status.resize:
        return []
    return list(_told(vm, vm.status.resize, new))


def event(vm: FlexVM, kind: str, reason: str, message: str) -> RecordEvent:
    """Something to tell about a machine."""
    about = {
        "kind": names.KIND,
        "apiVersion": names.API_VERSION,
        "namespace": vm.metadata.namespace,
        "name": vm.metadata.name,
        "uid": vm.metadata.uid,
    }
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=names.COMPONENT)


def _told(vm: FlexVM, old: Resize | None, new: Resize) -> Iterator[RecordEvent]:
    before = old if old is not None and is_same(old, new) else None
    if new.started_at and before is None and new.direction:
        yield event(vm, "Normal", "VMResizeStarted", _started(new))
    if new.deferred_at and new.phase == "PodDeferred" and not (before and before.deferred_at):
        yield event(vm, "Warning", "PodResizeDeferred", new.message)
    if new.remedy and not (before and before.remedy):
        yield event(vm, "Normal", "VMResizeFallback", new.remedy)
    known = {(s.resource, s.reason) for s in before.setbacks} if before else set()
    for each in new.setbacks:
        if (each.resource, each.reason) not in known:
            yield from _set_back(vm, each)
    yield from _plugged(vm, old, new)
    if new.fallback and not (before and before.fallback):
        yield event(vm, "Warning", "VMResizeFallback", f"{new.fallback}: {new.message}".rstrip(": "))
    if new.started_at and (before is None or before.phase != new.phase):
        yield from _ended(vm, new)


def is_same(old: Resize, new: Resize) -> bool:
    """Whether two states are of the same resize."""
    return (old.id, old.started_at) == (new.id, new.started_at)


def _ended(vm: FlexVM, new: Resize) -> Iterator[RecordEvent]:
    if new.phase == "Failed":
        yield event(vm, "Warning", "VMResizeFailed", new.message)
    if new.phase == "Done" and new.direction and new.reached:
        text = f"the guest has {_text(aim.sizes_of(new.reached))}"
        yield event(vm, "Normal", "VMResizeCompleted", f"{text}; {new.message}".rstrip("; "))


def _set_back(vm: FlexVM, setback: Setback) -> Iterator[RecordEvent]:
    if setback.reason in _REFUSED:
        yield event(vm, "Warning", "PodResizeInfeasible", setback.message)
    if setback.reason in {aim.PARTIAL, orders.REVERTED}:
        yield event(vm, "Warning", "GuestUnplugPartial", setback.message)
    if setback.reason == aim.NOT_ONLINED:
        yield event(vm, "Warning", "GuestNotOnlined", setback.message)


def _plugged(vm: FlexVM, old: Resize | None, new: Resize) -> Iterator[RecordEvent]:
    if old is None or old.reached is None or new.reached is None or new.target is None:
        return
    had, has, goal = (aim.sizes_of(each) for each in (old.reached, new.reached, new.target))
    for resource in aim.RESOURCES:
        if had.of(resource) < goal.of(resource) == has.of(resource):
            one = f"{has.vcpus} vCPUs" if resource == CPU else f"{aim.amounts_of(has).memory} of memory"
            yield event(vm, "Normal", "GuestPlugged", f"the guest has {one}")


def _started(new: Resize) -> str:
    start = aim.sizes_of(new.origin) if new.origin else Sizes(0, 0)
    goal = aim.sizes_of(new.target) if new.target else start
    return f"{new.direction} from {_text(start)} to {_text(goal)}"


def _text(size: Sizes) -> str:
    return f"{size.vcpus} vCPUs and {aim.amounts_of(size).memory}"
