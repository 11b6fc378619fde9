"""Keeps a line open to every launcher that the decider wants to hear of, and carries orders and reports.

An order is for the line it was given on: what could not be delivered is thrown away and the decider told that the
line is lost, so that it decides again on the next report. Of each kind of order only the latest waits; reports
are complete, so none is kept. Lines that break are opened again after a pause that grows, whatever broke them, and
one that breaks for a reason nobody foresaw is counted and told of; lines of pods that are gone are closed.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from flexlet.core.faults import Faults
from flexlet.core.vm.decider import Launcher
from flexlet.core.vm.guest import Order, Report
from flexlet.engine.guard import Guard
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock
from flexlet.ports.vmguest import GuestLink, GuestLinks

log: Final = logging.getLogger(__name__)
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
LOOP: Final = "lines to launchers"


class LinkDecider(Protocol):
    """What the keeper needs of whoever decides on machines."""

    on_order: Callable[[], None]
    """Called when there are orders to take, or other launchers to talk to."""

    def launchers(self) -> frozenset[Launcher]:
        """Lines that should be open."""
        ...

    def take_orders(self) -> list[tuple[Launcher, Order]]:
        """What launchers are to be told, which is told with that."""
        ...

    def learn_report(self, launcher: Launcher, report: Report, now: float) -> None:
        """A machine as it is."""
        ...

    def lost_line(self, launcher: Launcher, now: float) -> None:
        """Nobody answers, and orders that were not answered may not have arrived."""
        ...


class Line:
    """What waits to be said to one launcher, and who says it."""

    def __init__(self) -> None:
        self.is_open = False
        self.waiting: dict[type[Order], Order] = {}
        self.bell = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def put(self, order: Order) -> None:
        """Say this next; it takes the place of an older one of its kind."""
        self.waiting.pop(type(order), None)
        self.waiting[type(order)] = order
        self.bell.set()

    async def next(self) -> Order:
        """The oldest of the latest orders."""
        while not self.waiting:
            self.bell.clear()
            await self.bell.wait()
        return self.waiting.pop(next(iter(self.waiting)))


class LinkKeeper:
    """Runs the lines; `wake` lets the decider look at what they brought."""

    def __init__(
        self,
        decider: LinkDecider,
        links: GuestLinks,
        clock: Clock,
        wake: Callable[[], None],
        faults: Faults | None = None,
    ) -> None:
        self._guard = Guard(LOOP, clock, faults)
        self._decider = decider
        self._links = links
        self._clock = clock
        self._wake = wake
        self._lines: dict[Launcher, Line] = {}

    async def run(self) -> None:
        """Until cancelled."""
        changed = asyncio.Event()
        self._decider.on_order = changed.set
        async with asyncio.TaskGroup() as group:
            while True:
                changed.clear()
                self._follow(group)
                self._post()
                await changed.wait()

    def _follow(self, group: asyncio.TaskGroup) -> None:
        wanted = self._decider.launchers()
        for gone in self._lines.keys() - wanted:
            task = self._lines.pop(gone).task
            if task is not None:
                task.cancel()
        for new in wanted - self._lines.keys():
            line = self._lines[new] = Line()
            line.task = group.create_task(self._keep(new, line))

    def _post(self) -> None:
        for launcher, order in self._decider.take_orders():
            line = self._lines.get(launcher)
            if line is not None and line.is_open:
                line.put(order)
            else:
                self._lost(launcher)

    async def _keep(self, launcher: Launcher, line: Line) -> None:
        pause, name = FIRST_PAUSE_S, f"{launcher.namespace}/{launcher.pod}"
        while True:
            try:
                await self._talk(launcher, line)
            except* FlexletError as errors:
                log.info("no line to the launcher in %s: %s", name, errors.exceptions[0])
            except* Exception as errors:  # noqa: BLE001  whatever it is, it concerns this launcher alone
                self._guard.take(name, errors.exceptions[0])
                line.is_open = False  # a report that cannot be handled is no sign of a line that is well
            else:
                self._guard.ended(name)
            pause = FIRST_PAUSE_S if line.is_open else pause
            line.is_open = False
            self._lost(launcher)
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _talk(self, launcher: Launcher, line: Line) -> None:
        """Until the machine has ended or the line breaks."""
        line.waiting.clear()
        async with self._links.open(launcher.namespace, launcher.pod) as link, asyncio.TaskGroup() as group:
            saying = group.create_task(_say(line, link))
            async for report in link.reports():
                line.is_open = True
                self._decider.learn_report(launcher, report, self._clock.now())
                self._wake()
            saying.cancel()

    def _lost(self, launcher: Launcher) -> None:
        with self._guard.over(f"{launcher.namespace}/{launcher.pod}, lost"):
            self._decider.lost_line(launcher, self._clock.now())
        self._wake()


async def _say(line: Line, link: GuestLink) -> None:
    while True:
        await link.order(await line.next())
