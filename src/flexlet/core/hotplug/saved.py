"""The file in which a node keeps its generations: the size it published last, what is not finished, the stories.

An agent that starts goes on counting where the one before it stopped, finishes what that began, and sees a plug or
an unplug that happened meanwhile as the difference to the machine in the file. The stories of the last changes say
what was done to whom and why, for whoever asks later. What cannot be read is a value: the node begins anew and
keeps the file beside.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from flexlet.api import age, decode
from flexlet.core.hotplug import words
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import ResizePlan, gated
from flexlet.core.hotplug.prepared import resumed
from flexlet.core.hotplug.preparing import Prepared
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.hotplug.victims import Victim
from flexlet.core.machine.difference import Change, difference
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Part, offline, online
from flexlet.core.resize.allocation import applied
from flexlet.core.resources.effective import pod_requests
from flexlet.errors import InputError

FILE: Final = "node_generations"
STORIES: Final = 20
TRIES: Final = 8
"""More sizes in a row that could not be followed are not remembered."""
_VERSION: Final = 1


class Story(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of size."""

    number: int
    boot_id: str = ""
    seen_at: float = 0.0
    published_at: float = 0.0
    finished_at: float = 0.0
    """0: not yet."""
    changes: tuple[Change, ...] = ()
    victims: tuple[Victim, ...] = ()
    deeds: tuple[str, ...] = ()
    """What else was done, in sentences."""
    notes: tuple[str, ...] = ()
    """Reasons of the condition NodeResize that remained."""
    reverted: bool = False
    """Whether the machine has again what it had before."""
    forced: bool = False
    """Whether pods still used more than there was when their time was over."""


class Saved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the file holds."""

    version: int = _VERSION
    generation: Generation
    """The one that was published last."""
    before: Generation | None = None
    """Of an unfinished one: where it began."""
    tried: tuple[Machine, ...] = ()
    """Sizes that were begun after that and given up for another: some cgroups may still be as they wanted it."""
    worn: tuple[Machine, ...] = ()
    """Sizes whose values some containers may still have: they began to start before, or refused to be changed."""
    left: tuple[Part, ...] = ()
    """Parts that somebody had taken offline by then, and that no agent brings online."""
    stories: tuple[Story, ...] = ()
    """The newest last."""
    prepared: Prepared = Prepared()
    """How far an announced unplug is."""


class Spoiled(msgspec.Struct, frozen=True):
    """The file cannot be believed; keep it beside as ``.bad``."""

    why: str


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """Where an agent that starts takes up: the arguments of `plan`, and what to write to the file."""

    before: Generation
    unfinished: Generation | None = None
    saved: Saved
    earlier: Generation | None = None
    """The size before the machine was started again: planned from it, pods that no longer fit have to go."""


def encode(saved: Saved) -> bytes:
    """The text of the file."""
    return decode.to_json(saved)


def parse(text: bytes) -> Saved | Spoiled:
    """What a file says."""
    try:
        found = decode.from_json(text, Saved)
    except InputError as error:
        return Spoiled(str(error))
    if found.version != _VERSION:
        return Spoiled(f"it has version {found.version}, this flexlet reads version {_VERSION}")
    return found


def parse_or_none(text: bytes) -> Saved | None:
    """What a file says, None if that cannot be believed."""
    found = parse(text)
    return None if isinstance(found, Spoiled) else found


def begin(saved: Saved | None, machine: Machine, now: float, settings: ResizeSettings | None = None) -> Beginning:
    """Go on from what was saved; a machine that was started again begins anew and does not count backwards.

    So does one whose changes are not followed by `settings`: a node that does not look at its machine later has at
    least the size that it found when it started.
    """
    if saved is None:
        return _anew(1, machine, (), now)
    last = saved.generation
    if last.boot_id != machine.identity.boot_id:
        return msgspec.structs.replace(_anew(last.number + 1, machine, saved.stories, now), earlier=last)
    if difference(last.machine, machine) and settings is not None and gated(machine, (last.machine,), settings):
        return _anew(last.number + 1, machine, saved.stories, now)
    saved = msgspec.structs.replace(saved, prepared=resumed(saved.prepared))
    if saved.before is None:
        return Beginning(before=last, saved=saved)
    return Beginning(before=saved.before, unfinished=last, saved=saved)


def _anew(number: int, machine: Machine, stories: tuple[Story, ...], now: float) -> Beginning:
    first = Generation(number=number, machine=machine, seen_at=now, applied_at=now)
    return Beginning(before=first, saved=Saved(generation=first, stories=stories))


def attempted(saved: Saved, machine: Machine) -> Saved:
    """Work for another size begins; it may be given up before that size counts."""
    known = (saved.generation, *([] if saved.before is None else [saved.before]))
    if any(not difference(each, machine) for each in (*(each.machine for each in known), *saved.tried)):
        return saved
    return msgspec.structs.replace(saved, tried=(*saved.tried, machine)[-TRIES:])


def left_offline(saved: Saved, machine: Machine) -> frozenset[Part]:
    """Of the parts that are offline now, those that somebody took offline since the machine was started."""
    if saved.generation.boot_id != machine.identity.boot_id:
        return frozenset()
    return offline(machine.half_plugged) & (online(saved.generation.machine) | frozenset(saved.left))


def published(
    saved: Saved, plan: ResizePlan, tenants: Iterable[Tenant], now: float, left: Iterable[Part] = ()
) -> Saved:
    """A new size counts from now on, and there is more to do for it."""
    current = msgspec.structs.replace(plan.generation, applied_at=plan.generation.applied_at or now)
    story = Story(
        number=current.number,
        boot_id=current.boot_id,
        seen_at=current.seen_at,
        published_at=current.applied_at,
        changes=current.changes,
        victims=plan.victims,
        deeds=deeds(plan, {each.uid: each for each in tenants}),
        notes=plan.notes,
    )
    before = saved.before or saved.generation
    stories = _with(saved.stories, story) if current.changes else _reverted(saved.stories, current.number)
    return msgspec.structs.replace(
        saved, generation=current, before=before, stories=stories, left=tuple(sorted(left))
    )


def _reverted(stories: tuple[Story, ...], number: int) -> tuple[Story, ...]:
    """A story that ends where it began keeps what happened on the way."""
    return tuple(
        msgspec.structs.replace(each, reverted=True, notes=()) if each.number == number else each
        for each in stories
    )


def finished(saved: Saved, now: float, *, forced: bool = False) -> Saved:
    """Everything is done for the size that was published last."""
    ends = tuple(
        msgspec.structs.replace(each, finished_at=now, forced=forced or each.forced)
        if each.number == saved.generation.number
        else each
        for each in saved.stories
    )
    return msgspec.structs.replace(saved, before=None, tried=(), worn=_worn(saved), stories=ends)


def _worn(saved: Saved) -> tuple[Machine, ...]:
    earlier = [] if saved.before is None else [saved.before.machine]
    found = [each for each in (*saved.worn, *earlier, *saved.tried) if difference(each, saved.generation.machine)]
    return tuple(found)[-TRIES:]


def deeds(plan: ResizePlan, tenants: Mapping[str, Tenant]) -> tuple[str, ...]:
    """What was done besides ending pods, in sentences."""
    paid = [
        f"balloon {each.name} made room: {words.amounts(each.requests, pod_requests(applied(each.pod, smaller)))}"
        for uid, smaller in plan.allocations.items()
        if (each := tenants.get(uid)) is not None
    ]
    moved = [
        f"container {move.container} of {each.name} was given CPUs {move.after} instead of {move.before}"
        for move in plan.reassigned
        if (each := tenants.get(move.uid)) is not None
    ]
    return (*paid, *moved)


def told(story: Story) -> tuple[str, ...]:
    """A story in lines, as ``flexlet explain`` prints it."""
    when = age.format_seconds(story.seen_at)
    end = f"done after {story.finished_at - story.seen_at:.1f} s" if story.finished_at else "not finished"
    return (
        f"generation {story.number}, {when}: {words.changes(story.changes)}; {end}",
        *(f"  ended {each.namespace}/{each.name}: {each.reason}: {each.why}" for each in story.victims),
        *(f"  {each}" for each in story.deeds),
        *(["  the machine has again what it had before"] if story.reverted else []),
        *(["  pods used more than there was when their time was over"] if story.forced else []),
        *(f"  remained: {each}" for each in story.notes),
    )


def _with(stories: tuple[Story, ...], story: Story) -> tuple[Story, ...]:
    """The last ones; one that is taken up again keeps the victims that it had before."""
    before = next((each for each in stories if each.number == story.number), None)
    if before is not None:
        known = {each.uid for each in story.victims}
        earlier = tuple(each for each in before.victims if each.uid not in known)
        more = tuple(each for each in before.deeds if each not in story.deeds)
        story = msgspec.structs.replace(story, victims=(*earlier, *story.victims), deeds=(*more, *story.deeds))
    return (*(each for each in stories if each.number != story.number), story)[-STORIES:]
