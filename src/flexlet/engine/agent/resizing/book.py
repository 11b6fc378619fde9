"""The node's generations, in memory and on disk: which size counts, and what is not finished."""

import logging
from collections.abc import Iterable
from typing import Final

from flexlet.core.hotplug import saved
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.hotplug.saved import Saved, Spoiled
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.machine.difference import difference
from flexlet.core.machine.machine import Machine
from flexlet.errors import HostError
from flexlet.ports.checkpoints import Checkpoints
from flexlet.ports.clock import Clock

log: Final = logging.getLogger(__name__)


class Generations:
    """One owner: the resizer. A size is on disk before anything goes by it."""

    def __init__(self, files: Checkpoints, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._saved: Saved
        self.before: Generation
        """Where a plan begins: the last size for which everything was done."""
        self.unfinished: Generation | None = None
        """A later one that counts already."""

    @property
    def current(self) -> Generation:
        """The size that counts."""
        return self.unfinished or self.before

    async def open(self, machine: Machine, settings: ResizeSettings) -> None:
        """Go on from what an earlier agent left; a file that cannot be read is kept beside."""
        raw = await self._files.load(saved.FILE)
        found = None if raw is None else saved.parse(raw)
        if raw is not None and isinstance(found, Spoiled):
            log.warning("beginning anew: %s: %s; kept as .bad", self._files.path(saved.FILE), found.why)
            await self._files.save(f"{saved.FILE}.bad", raw)
            found = None
        begun = saved.begin(found if isinstance(found, Saved) else None, machine, self._clock.now(), settings)
        self._saved, self.before, self.unfinished = begun.saved, begun.before, begun.unfinished
        if begun.earlier is not None and difference(begun.earlier.machine, machine):
            # Pods that an earlier agent let in are asked again: the machine is another since it was started anew.
            self.before, self.unfinished = begun.earlier, begun.before
        if begun.saved != found:
            await self._write()

    async def publish(self, plan: ResizePlan, tenants: Iterable[Tenant]) -> None:
        """A new size counts from now on; HostError, and nothing has changed, if that cannot be written."""
        before, self._saved = self._saved, saved.published(self._saved, plan, tenants, self._clock.now())
        try:
            await self._write()
        except HostError:
            self._saved = before
            raise
        self.unfinished = self._saved.generation

    async def finish(self, *, forced: bool) -> None:
        """Everything is done for it."""
        self._saved = saved.finished(self._saved, self._clock.now(), forced=forced)
        self.before, self.unfinished = self._saved.generation, None
        await self._write()

    async def _write(self) -> None:
        await self._files.save(saved.FILE, saved.encode(self._saved))
