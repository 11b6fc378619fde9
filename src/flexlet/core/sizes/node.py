"""Everything about one node that has to do with its size, for people to read."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from flexlet.api import age, decode
from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.node import Node
from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.sizes import nodes, words
from flexlet.core.sizes.nodes import NodeSizes
from flexlet.errors import InputError

INITIAL: Final = "resize.node.kubernetes.io/initial-capacity"
EVENTS: Final = 10
"""So many of the newest are shown."""
_REASONS: Final = ("Resize", "HalfPlugged", "Balloon", "ExclusiveCPUs", "CapacityExceeded")


class Event(KubeStruct, frozen=True, kw_only=True):
    """What is read of an event."""

    metadata: ObjectMeta = ObjectMeta()
    involved_object: dict[str, str] = msgspec.field(default_factory=dict)
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 1
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    source: dict[str, str] = msgspec.field(default_factory=dict)
    reporting_instance: str = ""

    @property
    def at(self) -> str:
        """When it was last; events have three ways to say it."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""

    @property
    def is_about_size(self) -> bool:
        """Whether it belongs to the story of a node's size."""
        return any(part in self.reason for part in _REASONS)


class NodeDetails(msgspec.Struct, frozen=True, kw_only=True):
    """One node."""

    sizes: NodeSizes
    condition: Condition | None = None
    taints: tuple[str, ...] = ()
    initial_capacity: ResourceList = msgspec.field(default_factory=dict)
    desired_capacity: ResourceList = msgspec.field(default_factory=dict)
    """What an unplug is being prepared for."""
    unplug_ready: str = ""
    others: dict[str, tuple[Quantity, Quantity]] = msgspec.field(default_factory=dict)
    """Capacity and allocatable of all other resources that the node has."""
    wish: NodeSize | None = None
    events: tuple[Event, ...] = ()


def details(node: Node, pods: Iterable[Pod], wish: NodeSize | None, events: Iterable[Event]) -> NodeDetails:
    """Put together what the API knows."""
    notes = node.metadata.annotations
    told = sorted((each for each in events if each.is_about_size), key=lambda each: each.at)
    return NodeDetails(
        sizes=nodes.of_node(node, pods),
        condition=nodes.condition(node, nodes.NODE_RESIZE),
        taints=tuple(_taint(each.key, each.value, each.effect) for each in node.spec.taints),
        initial_capacity=_amounts(notes.get(INITIAL, "")),
        desired_capacity=_amounts(notes.get(names.DESIRED_CAPACITY, "")),
        unplug_ready=notes.get(names.UNPLUG_READY, ""),
        others={
            name: (amount, node.status.allocatable.get(name, amount))
            for name, amount in node.status.capacity.items()
            if name not in nodes.RESOURCES and amount
        },
        wish=wish,
        events=tuple(told[-EVENTS:]),
    )


def lines(found: NodeDetails, now: float) -> Iterator[str]:
    """The facts one below the other."""
    sizes = found.sizes
    yield _fact("Name", sizes.name)
    yield _fact("Status", sizes.status)
    yield _fact("Generation", _number(found))
    yield _fact("NodeResize", _held(found.condition, now))
    yield _fact("Taints", ", ".join(found.taints) or "none")
    if found.initial_capacity:
        yield _fact("Registered with", listed(found.initial_capacity))
    if found.desired_capacity:
        ready = f", ready to unplug (generation {found.unplug_ready})" if found.unplug_ready else ", not ready yet"
        yield _fact("Prepares for", listed(found.desired_capacity) + ready)
    if found.wish is not None:
        yield from _wish(found.wish, now)


def table(found: NodeDetails) -> list[tuple[str, ...]]:
    """Rows of the resources."""
    head = ("RESOURCE", "CAPACITY", "ALLOCATABLE", "BALLOON", "EFFECTIVE", "USED", "HEADROOM", "")
    rows = [
        (
            name,
            *(
                words.amount(name, each)
                for each in (one.capacity, one.allocatable, one.balloon, one.effective, one.used, one.headroom)
            ),
            one.bar(),
        )
        for name, one in found.sizes.resources.items()
    ]
    rows += [
        (name, _other(name, whole), _other(name, left), *[""] * 5) for name, (whole, left) in found.others.items()
    ]
    return [head, *rows]


def event_rows(events: Sequence[Event], now: float) -> list[tuple[str, ...]]:
    """Rows of events, the newest last."""
    return [
        ("LAST", "TYPE", "REASON", "MESSAGE"),
        *((age.since(each.at, now), each.type, each.reason, _message(each)) for each in events),
    ]


def value(found: NodeDetails) -> dict[str, Any]:
    """The same for programs."""
    shown: dict[str, Any] = decode.to_value(found.sizes)
    return shown | {
        "condition": decode.to_value(found.condition),
        "taints": list(found.taints),
        "initialCapacity": decode.to_value(found.initial_capacity),
        "desiredCapacity": decode.to_value(found.desired_capacity),
        "unplugReady": found.unplug_ready,
        "others": {
            name: {"capacity": str(whole), "allocatable": str(left)}
            for name, (whole, left) in found.others.items()
        },
        "nodeSize": decode.to_value(found.wish),
        "events": [
            {"at": each.at, "type": each.type, "reason": each.reason, "message": each.message, "count": each.count}
            for each in found.events
        ],
    }


def listed(amounts: ResourceList) -> str:
    """``cpu 4, memory 8Gi``; the rest of a node's resources does not change with its machine."""
    return ", ".join(f"{name} {words.amount(name, amounts[name])}" for name in nodes.RESOURCES if name in amounts)


def _wish(wish: NodeSize, now: float) -> Iterator[str]:
    target = wish.spec.target
    if target is None:
        yield _fact("Wanted size", "none: the balloon pod's own size counts")
    else:
        kind, amounts = ("effective", target.effective) if target.effective else ("balloon", target.balloon)
        yield _fact("Wanted size", f"{kind} {listed(amounts or {})}, via {wish.spec.via or 'Balloon'}")
    for each in wish.status.conditions:
        if each.status == "True" and each.type != "Ready":
            yield _fact(each.type, _held(each, now))


def _fact(name: str, text: str) -> str:
    return f"{name + ':':<17}{text}"


def _number(found: NodeDetails) -> str:
    if found.sizes.generation is not None:
        return str(found.sizes.generation)
    return "not known yet" if found.condition is not None else "none: this node does not follow its machine"


def _held(condition: Condition | None, now: float) -> str:
    """``HalfPlugged for 2m: memory40 is offline``."""
    if condition is None:
        return "none"
    since = condition.last_transition_time
    text = condition.reason + (f" for {age.since(since, now)}" if since else "")
    return f"{text}: {condition.message}" if condition.message else text


def _other(name: str, quantity: Quantity) -> str:
    plain = name in {"pods", "pids"}
    return str(quantity) if plain or "." in name or "/" in name else words.amount(name, quantity)


def _taint(key: str, text: str, effect: str) -> str:
    return f"{key}={text}:{effect}" if text else f"{key}:{effect}"


def _message(event: Event) -> str:
    return f"{event.message} (x{event.count})" if event.count > 1 else event.message


def _amounts(text: str) -> ResourceList:
    """What an annotation says; nothing if somebody has written something else there."""
    try:
        return decode.from_json(text, dict[str, Quantity]) if text else {}
    except InputError:
        return {}
