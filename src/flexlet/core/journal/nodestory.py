"""The story of a node's sizes: which generations there were, what changed, what was done to whom and why.

Told from the node's own file where that can be read (`of_file`), else from what the cluster remembers
(`of_events`): events say the same in fewer words, and a cluster forgets them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.api.quantity import Quantity
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.saved import Saved
from flexlet.core.sizes.node import Event, NodeDetails

VICTIMS: Final = ("NodeCapacityExceeded", "ExclusiveCPUsReassigned", "ExceededGracePeriod")
"""Reasons of what pods are told when their node changes size."""
_RESIZED: Final = "NodeResized"
_GENERATION: Final = re.compile(r" \(generation (\d+)\)$")


def of_file(found: Saved) -> Iterator[str]:
    """All that the node's file knows, the oldest first."""
    boot = ""
    for story in found.stories:
        if boot and story.boot_id != boot:
            yield "the machine was started again"
        boot = story.boot_id
        yield from saved.told(story)
    if boot and found.generation.boot_id != boot:
        yield "the machine was started again"
    yield from _now(found)


def _now(found: Saved) -> Iterator[str]:
    machine, number = found.generation.machine, found.generation.number
    size = f"{len(machine.cpus)} CPUs, {Quantity.of_bytes(machine.memory)} of memory"
    yield f"now: generation {number}, {size}" + (", not everything is done for it" if found.before else "")


def of_events(details: NodeDetails, told: Iterable[Event]) -> Iterator[str]:
    """What the cluster remembers: a paragraph a generation, and what else was told about the node's size."""
    events = sorted((*details.events, *told), key=lambda each: (each.at, _is_about_pod(each)))
    followers: dict[str, list[Event]] = {}
    heads = {_generation(each) for each in events if each.reason == _RESIZED}
    for each in events:
        if each.reason != _RESIZED and _generation(each) in heads:
            followers.setdefault(_generation(each), []).append(each)
    for each in events:
        number = _generation(each)
        if each.reason == _RESIZED:
            yield f"generation {number or '?'}, {each.at}: {_plain(each).removeprefix('capacity changed: ')}"
            yield from (f"  {_follower(one)}" for one in followers.get(number, ()))
        elif number not in heads:
            yield f"{each.at}: {_follower(each)}"
    yield _as_it_is(details)


def _as_it_is(details: NodeDetails) -> str:
    sizes = details.sizes
    number = "no generation" if sizes.generation is None else f"generation {sizes.generation}"
    capacity = {name: one.capacity for name, one in sizes.resources.items()}
    text = f"now: {number}, cpu {capacity['cpu']}, memory {capacity['memory']}"
    held = details.condition
    return f"{text}; {held.reason}: {held.message}" if held is not None and held.status == "True" else text


def _follower(event: Event) -> str:
    about, text = event.involved_object, _plain(event)
    if not _is_about_pod(event):
        return f"{event.reason}: {text}"
    name = f"{about.get('namespace', 'default')}/{about.get('name', '')}"
    return f"ended {name}: {text}" if event.reason == VICTIMS[0] else f"{name}: {event.reason}: {text}"


def _is_about_pod(event: Event) -> bool:
    return event.involved_object.get("kind") == "Pod"


def _generation(event: Event) -> str:
    found = _GENERATION.search(event.message)
    return found[1] if found else ""


def _plain(event: Event) -> str:
    return _GENERATION.sub("", event.message)
