"""Notices that the machine changed and tells whoever applies it; when and what is decided in `core.detection`.

Hints come from the kernel's events, from the list of swap devices and from a signal; a look at the sizes now and
then finds what nobody tells. A node on which nothing happens reads a handful of files every ten seconds.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from flexlet.api.pod import ResourceList
from flexlet.core.detection.detector import Detector
from flexlet.core.detection.observations import Answered, Deaf, Hinted, Observation, Read, ReadFailed
from flexlet.core.detection.steps import Apply, Note, Online, ReadMachine, Step
from flexlet.core.hotplug.pending import Signs
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine import discovery, sources, udev
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Kind, Part
from flexlet.engine.pause import pause
from flexlet.errors import HostError
from flexlet.ports.clock import Clock
from flexlet.ports.host import HostReader
from flexlet.ports.parts import Parts
from flexlet.ports.uevents import Overrun, Swaps, Uevent, Uevents

if TYPE_CHECKING:
    from flexlet.core.machine.snapshot import Snapshot

log: Final = logging.getLogger(__name__)


class Detecting:
    """Call `first`, then `run` it as a duty; `apply` hears of each machine that is to be applied.

    `apply` gets the machine and when its change was first noticed (on the clock's monotonic time), must return at
    once, and may be called again before the one before is done with: the latest wins.
    """

    def __init__(
        self,
        host: HostReader,
        uevents: Uevents,
        swaps: Swaps,
        parts: Parts,
        clock: Clock,
        settings: ResizeSettings,
        storage: str,
        *,
        reserved: ResourceList | None = None,
        sway: float = 0.0,
    ) -> None:
        self._host = host
        self._uevents = uevents
        self._swaps = swaps
        self.parts = parts
        """The switches of the machine's parts."""
        self._clock = clock
        self._settings = settings
        self._storage = storage
        self._detector = Detector(settings, reserved, sway)
        self._everything: Snapshot | None = None
        self._wake = asyncio.Event()
        self._first_at = 0.0
        self._told_at = 0.0
        """When the kernel last told of a part."""
        self.apply: Callable[[Machine, float], None] = lambda _machine, _seen_at: None
        self.noted: Callable[[Note], None] = lambda _: None
        """Called when parts are left half-plugged (``HalfPlugged``, with a message), and when none is any more."""
        self.uevents: Counter[tuple[str, str]] = Counter()
        """Events by subsystem and action."""
        self.overruns = 0
        self.failed_reads = 0

    @property
    def machine(self) -> Machine | None:
        """As it was last read, applied or not; its half-plugged parts are of the last thorough look."""
        return self._detector.latest

    def half_plugged(self) -> dict[Kind, int]:
        """How many parts wait to be brought online, by kind."""
        return self._detector.half_plugged()

    def signs(self) -> Signs:
        """Whether parts of the machine are going offline, and when the kernel last told of some."""
        known = self._detector.latest
        is_leaving = known is not None and bool(known.half_plugged.leaving_blocks)
        return Signs(told_at=self._told_at, is_leaving=is_leaving)

    async def first(self) -> Machine:
        """Look at everything once; HostError if what is read cannot be a machine."""
        rules = await self._host.read(udev.RULES) if self._settings.online_policy == "auto" else None
        machine = await self._read("everything")
        onlined = udev.onlines(rules) if rules is not None else frozenset()
        self._first_at = self._clock.monotonic()
        self._detector.begin(machine, self._first_at, onlined)
        return machine

    def look_again(self) -> None:
        """Somebody says that the machine changed: a signal, whoever plugged it, a command."""
        self._learn(Hinted("signal", self._clock.monotonic()))

    def leave_offline(self, parts: Iterable[Part]) -> None:
        """Parts that were taken offline on purpose and must not come back by our hand."""
        self._detector.leave(parts)

    def left_offline(self) -> frozenset[Part]:
        """Parts that somebody took offline on purpose."""
        return self._detector.left

    def mind(self, part: Part) -> None:
        """A part that was left offline on purpose should be online again, and is not."""
        self._learn(Hinted("onlined", self._clock.monotonic(), part))

    async def run(self) -> None:
        """Until cancelled; without the gate it only waits."""
        if not self._settings.plug:
            await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear_kernel())
            group.create_task(self._hear_swaps())
            if self._clock.monotonic() > self._first_at:
                # Nobody listened since the first look.
                self.look_again()
            rung = 0.0
            while True:
                self._wake.clear()
                decision = self._detector.decide(max(self._clock.monotonic(), rung))
                for step in decision.steps:
                    await self._perform(step)
                if not decision.steps:
                    rung = await self._pause(decision.wake_at) or rung

    async def _pause(self, until: float | None) -> float | None:
        """Until something is learned or it is time; the time that came, because alarms ring a breath too early."""
        seconds = None if until is None else max(0.0, until - self._clock.monotonic())
        return until if await pause(self._wake, self._clock, seconds) else None

    async def _perform(self, step: Step) -> None:
        match step:
            case ReadMachine():
                await self._look(step)
            case Online():
                await self._online(step)
            case Apply():
                self.apply(step.machine, step.seen_at)
            case Note():
                log.info("parts of the machine: %s %s", step.reason, step.message)
                self.noted(step)

    async def _look(self, step: ReadMachine) -> None:
        try:
            machine = await self._read(step.what)
        except HostError as error:
            self.failed_reads += 1
            log.warning("the machine stays as it was known: %s", error)
            self._learn(ReadFailed(str(error), self._clock.monotonic()))
        else:
            self._learn(Read(machine, self._clock.monotonic()))

    async def look(self) -> Machine:
        """A thorough look for whoever cannot wait for the next one; HostError as for `first`."""
        return discovery.machine(await self._host.read(sources.EVERYTHING, (self._storage,)), self._storage)

    async def _read(self, what: str) -> Machine:
        known, everything = self._detector.latest, self._everything
        if what == "sizes" and known is not None and everything is not None:
            sizes = await self._host.read(sources.SIZES, (self._storage,))
            if not sources.needs_everything(everything, sizes):
                return discovery.measured(known, sizes, self._storage)
        found = await self._host.read(sources.EVERYTHING, (self._storage,))
        machine = discovery.machine(found, self._storage)
        self._everything = found
        return machine

    async def _online(self, step: Online) -> None:
        try:
            refused = await self.parts.online(step.part, step.as_)
            reason = refused.message if refused is not None else ""
        except HostError as error:
            reason = str(error)
        self._learn(Answered(step.part, reason, self._clock.monotonic()))

    async def _hear_kernel(self) -> None:
        """Events until they cannot be heard."""
        try:
            async for event in self._uevents.events():
                self._told_at = self._clock.monotonic()
                if isinstance(event, Overrun):
                    self.overruns += 1
                    self._learn(Hinted("overrun", self._clock.monotonic()))
                else:
                    self.uevents[event.subsystem, event.action] += 1
                    self._learn(Hinted("uevent", self._clock.monotonic(), _added(event)))
        except HostError as error:
            log.warning("hot plug is noticed by looking only, every %g s: %s", self._settings.poll_s, error)
            self._learn(Deaf())

    async def _hear_swaps(self) -> None:
        try:
            async for _ in self._swaps.changes():
                self._learn(Hinted("swaps", self._clock.monotonic()))
        except HostError as error:
            log.info("swap is noticed by looking only: %s", error)

    def _learn(self, observation: Observation) -> None:
        self._detector.learn(observation)
        self._wake.set()


def _added(event: Uevent) -> Part | None:
    name = event.devpath.rpartition("/")[2]
    return Part.find(name) if event.action == "add" else None
