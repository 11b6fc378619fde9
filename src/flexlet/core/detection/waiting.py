"""Parts that were plugged and wait for somebody to bring them online.

The system gets a moment of grace to do it (udev may be slow), then this node does, if that is its business, and
tries for a while. A part that was online and went offline was taken offline by somebody, who had a reason: it is
left alone until it comes online again or is unplugged.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from flexlet.core.detection import policy
from flexlet.core.detection.steps import Note, Online
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine import parts
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Kind, Part

_RETRY_S: Final = 0.05
_TRIES: Final = 100


class Wait(msgspec.Struct):
    """One part that is offline."""

    since: float
    next_at: float | None
    """When to write; None while nobody knows what came of the last time."""
    tries: int = 0
    refusal: str = ""

    @property
    def is_hopeless(self) -> bool:
        """Whether we stopped trying."""
        return self.tries >= _TRIES


class Waiting:
    """All parts that are offline and should not be."""

    def __init__(self, settings: ResizeSettings) -> None:
        self._settings = settings
        self._ours: frozenset[Kind] = frozenset()
        self._machine = Machine()
        self._kept = {Part.parse(name) for name in settings.keep_offline}
        self._left: set[Part] = set()
        self._online: frozenset[Part] = frozenset()
        self._waits: dict[Part, Wait] = {}
        self._noted = Note("Stable")

    def begin(self, ours: frozenset[Kind]) -> None:
        """The kinds of parts that are ours to bring online."""
        self._ours = ours

    def leave(self, named: Iterable[Part]) -> None:
        """Parts that somebody took or will take offline on purpose."""
        for part in named:
            self._left.add(part)
            self._waits.pop(part, None)

    @property
    def left(self) -> frozenset[Part]:
        """Parts that are offline because somebody wants it so."""
        return frozenset(self._left)

    def added(self, part: Part | None) -> None:
        """A part came, so what was known of one of that name is over."""
        if part is not None:
            self._left.discard(part)
            self._online -= {part}

    def see(self, machine: Machine, at: float) -> None:
        """A look at the machine; only thorough ones know of parts, and others repeat what those said."""
        offline, online = parts.offline(machine.half_plugged), parts.online(machine)
        self._left = (self._left | self._online) & offline
        wanted = offline - self._left - self._kept
        self._waits = {part: self._waits.get(part) or self._wait(at) for part in sorted(wanted)}
        self._online, self._machine = online, machine

    def answered(self, part: Part, refusal: str, at: float) -> None:
        """What came of a write. A success is seen with the next look; should it not be, another write follows."""
        wait = self._waits.get(part)
        if wait is None:
            return
        wait.refusal = refusal
        wait.tries += 1
        wait.next_at = at + (_RETRY_S if refusal else self._settings.online_grace_s)

    def due(self, now: float) -> Iterator[Online]:
        """The parts to bring online now."""
        planned = 0
        for part, wait in self._waits.items():
            if self._is_ours(part, wait) and wait.next_at is not None and wait.next_at <= now:
                wait.next_at = None
                zone = policy.online_as(part.kind, self._settings.memory_online_as, self._machine, planned)
                planned += self._machine.block_size if zone == "online_movable" else 0
                yield Online(part, zone)

    def news(self, now: float) -> Iterator[Note]:
        """What to say of parts that stay half-plugged, if it is another thing than before."""
        stuck = {part: wait for part, wait in self._waits.items() if self._is_stuck(part, wait, now)}
        note = Note("HalfPlugged", _message(stuck)) if stuck else Note("Stable")
        if note != self._noted:
            self._noted = note
            yield note

    def counts(self) -> dict[Kind, int]:
        """How many wait, by kind; CPUs of which the kernel has not said where they sit wait too."""
        settling = len(self._machine.half_plugged.settling_cpus)
        kinds = [part.kind for part in self._waits]
        return {"cpu": kinds.count("cpu") + settling, "memory": kinds.count("memory")}

    def wake_at(self, now: float) -> Iterator[float]:
        """When there may be something to do or to say."""
        for part, wait in self._waits.items():
            if self._is_ours(part, wait):
                if wait.next_at is not None:
                    yield wait.next_at
            elif not self._is_stuck(part, wait, now):
                yield wait.since + self._settings.online_grace_s

    def _wait(self, at: float) -> Wait:
        return Wait(at, at + self._settings.online_grace_s)

    def _is_ours(self, part: Part, wait: Wait) -> bool:
        return part.kind in self._ours and not wait.is_hopeless

    def _is_stuck(self, part: Part, wait: Wait, now: float) -> bool:
        return not self._is_ours(part, wait) and wait.since + self._settings.online_grace_s <= now


def _message(stuck: dict[Part, Wait]) -> str:
    names = ", ".join(map(str, stuck))
    refusal = next((wait.refusal for wait in stuck.values() if wait.refusal), "")
    why = f"the kernel does not bring them online: {refusal}" if refusal else "nobody brings them online"
    return f"{names} plugged and offline: {why}"
