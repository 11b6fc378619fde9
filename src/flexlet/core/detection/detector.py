"""When to look at the machine, and when a look is to be believed and acted on.

The first hint opens a window and is followed by a quick look, which tells how long to wait for quiet: less if
something became less. Each further hint makes the window longer, up to a limit. When it closes, one thorough look
says what the machine is, however many hints there were. A look that finds a change without any hint opens a window
too. What is so small that it may be a glitch is read several times before it counts.

Must stay true: at most one look is under way; a hint that comes while a closing look is under way opens a new
window, so that the last word is always looked up.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.core.detection import judging, policy
from flexlet.core.detection.observations import Answered, Deaf, Hinted, Observation, Read, ReadFailed
from flexlet.core.detection.steps import Apply, Decision, ReadMachine, Step
from flexlet.core.detection.waiting import Waiting
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Kind, Part
from flexlet.errors import InvariantBroken

Purpose = Literal["look", "close"]

_SWAY: Final = 0.1
_AGAIN_S: Final = 1.0
"""How soon to look again after a look that failed, and while blocks of memory are leaving."""
_SETTLING_S: Final = 0.2
_SETTLING_LOOKS: Final = 10


class Window(msgspec.Struct):
    """A time in which the machine is changing."""

    first: float
    last: float
    quiet: float
    looked: bool = False

    def closes_at(self, max_delay: float) -> float:
        """When to take the look that counts."""
        return min(self.last + self.quiet, self.first + max_delay)


class Doubt(msgspec.Struct):
    """A change that is hard to believe."""

    seen_at: float
    since: float
    next_at: float
    reads: int = 0


class Detector:
    """`learn` what happened, then `decide` until there is nothing to do; `begin` with the first machine."""

    def __init__(self, settings: ResizeSettings, reserved: ResourceList | None = None, sway: float = 0.0) -> None:
        self.latest: Machine | None = None
        """As last read."""
        self.applied: Machine | None = None
        self._settings = settings
        self._reserved = reserved or {}
        self._poll_s = settings.poll_s * (1 + _SWAY * max(-1.0, min(1.0, sway)))
        self._waiting = Waiting(settings)
        self._window: Window | None = None
        self._doubt: Doubt | None = None
        self._asked: Purpose | None = None
        self._seen_at = 0.0
        self._ready: Apply | None = None
        self._poll_at = 0.0
        self._look_at: float | None = None
        self._settling_looks = 0
        self._not_before = 0.0
        self._is_deaf = False

    def begin(self, machine: Machine, at: float, udev_onlines: frozenset[Kind] = frozenset()) -> None:
        """The machine that was found at the start counts as it is."""
        self.latest = self.applied = machine
        self._poll_at = at + self._poll_s
        self._waiting.begin(policy.ours(self._settings, machine, udev_onlines))
        self._see(machine, at)

    def leave(self, parts: Iterable[Part]) -> None:
        """Parts that must not be brought online."""
        self._waiting.leave(parts)

    @property
    def left(self) -> frozenset[Part]:
        """Parts that somebody took offline, and that must not be brought online."""
        return self._waiting.left

    def half_plugged(self) -> dict[Kind, int]:
        """How many parts wait to be brought online, by kind."""
        return self._waiting.counts()

    def learn(self, observation: Observation) -> None:
        """Take note; what follows from it is told by `decide`."""
        match observation:
            case Hinted(at=at, added=added):
                self._waiting.added(added)
                self._hint(at)
            case Read(machine=machine, at=at):
                self._read(machine, at)
            case ReadFailed(at=at):
                self._failed(at)
            case Answered(part=part, refusal=refusal, at=at):
                self._waiting.answered(part, refusal, at)
                if not refusal:
                    self._hint(at)
            case Deaf():
                self._is_deaf = True

    def decide(self, now: float) -> Decision:
        """What to do now; nothing without the gate."""
        if not self._settings.plug or self.applied is None:
            return Decision()
        steps = tuple(self._steps(now))
        return Decision(steps, min((max(now, at) for at in self._times(now)), default=None))

    def _steps(self, now: float) -> Iterator[Step]:
        if self._ready is not None:
            yield self._ready
            self._ready = None
        yield from self._waiting.news(now)
        yield from self._waiting.due(now)
        if self._asked is None and now >= self._not_before:
            yield from self._next_look(now)

    def _next_look(self, now: float) -> Iterator[ReadMachine]:
        window, doubt = self._window, self._doubt
        if window is not None and now >= window.closes_at(self._settings.max_delay_s):
            self._window, self._seen_at = None, window.first
            yield self._ask("close", "everything")
        elif window is not None and not window.looked:
            yield self._ask("look", "sizes")
        elif doubt is not None and now >= doubt.next_at:
            yield self._ask("close", "everything")
        elif self._look_at is not None and now >= self._look_at:
            yield self._ask("look", "everything")
        elif now >= self._poll_at:
            self._poll_at = now + self._poll_s
            yield self._ask("look", "everything" if self._is_deaf or self._is_moving() else "sizes")

    def _is_moving(self) -> bool:
        return self.latest is not None and self.latest.half_plugged.is_moving

    def _ask(self, purpose: Purpose, what: Literal["everything", "sizes"]) -> ReadMachine:
        self._asked = purpose
        return ReadMachine(what)

    def _times(self, now: float) -> Iterator[float]:
        yield from self._waiting.wake_at(now)
        if self._asked is None:
            yield from (max(at, self._not_before) for at in self._look_times())

    def _look_times(self) -> Iterator[float]:
        yield self._poll_at
        if self._window is not None:
            yield self._window.closes_at(self._settings.max_delay_s) if self._window.looked else self._window.first
        if self._doubt is not None:
            yield self._doubt.next_at
        if self._look_at is not None:
            yield self._look_at

    def _hint(self, at: float) -> None:
        if self._window is None:
            self._window = Window(at, at, self._settings.quiet_s)
        else:
            self._window.last = at

    def _read(self, machine: Machine, at: float) -> None:
        purpose, self._asked = self._asked, None
        if purpose is None or self.applied is None:
            raise InvariantBroken("a machine is read only when the detector asks for it")
        self.latest = machine
        self._see(machine, at)
        if purpose == "close":
            self._close(self.applied, machine, at)
        else:
            self._glance(self.applied, machine, at)

    def _glance(self, applied: Machine, machine: Machine, at: float) -> None:
        """A look that may open a window, and that tells how urgent it is."""
        changes = judging.worthwhile(applied, machine, self._settings.jitter)
        if self._window is None and changes and self._doubt is None:
            self._hint(at)
        if self._window is not None and not self._window.looked:
            self._window.looked = True
            if judging.shrank(changes):
                self._window.quiet = self._settings.shrink_quiet_s

    def _close(self, applied: Machine, machine: Machine, at: float) -> None:
        """The look that counts."""
        changes = judging.worthwhile(applied, machine, self._settings.jitter)
        doubt, doubtful = self._doubt, judging.is_doubtful(changes, self._reserved)
        if doubtful and not self._is_confirmed(at):
            return
        self._doubt = None
        if changes:
            self.applied = machine
            seen_at = doubt.seen_at if doubt is not None else self._seen_at
            self._ready = Apply(machine=machine, seen_at=seen_at, confirmed=doubtful)

    def _is_confirmed(self, at: float) -> bool:
        """Whether enough looks over enough time agree that little is left."""
        apart = self._settings.confirm_s / max(1, self._settings.confirm_reads - 1)
        doubt = self._doubt = self._doubt or Doubt(self._seen_at, at, at)
        doubt.reads += 1
        doubt.next_at = at + apart
        return doubt.reads >= self._settings.confirm_reads and at - doubt.since >= self._settings.confirm_s

    def _failed(self, at: float) -> None:
        """Keep what is known and look again soon; the window that was closing is open again."""
        purpose, self._asked = self._asked, None
        self._not_before = at + _AGAIN_S
        if purpose == "close" and self._doubt is None:
            first = self._seen_at
            last = self._window.last if self._window is not None else at
            self._window = Window(first, last, self._settings.quiet_s, looked=True)
        elif self._window is None:
            self._poll_at = min(self._poll_at, self._not_before)

    def _see(self, machine: Machine, at: float) -> None:
        """Parts that wait, and parts that the kernel is busy with: those are worth another look soon."""
        self._waiting.see(machine, at)
        moving = machine.half_plugged
        self._settling_looks = self._settling_looks + 1 if moving.settling_cpus else 0
        if moving.settling_cpus and self._settling_looks <= _SETTLING_LOOKS:
            self._look_at = at + _SETTLING_S
        else:
            self._look_at = at + _AGAIN_S if moving.leaving_blocks else None
