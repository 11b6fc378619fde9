"""The node's generations, in memory and on disk: which size counts, and what is not finished."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from flexlet.core.hotplug import saved
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.hotplug.preparing import Prepared
from flexlet.core.hotplug.saved import Saved, Spoiled
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.machine.difference import difference
from flexlet.core.machine.machine import Machine
from flexlet.engine.agent.restored import restored
from flexlet.errors import HostError, InputError
from flexlet.ports.checkpoints import Checkpoints
from flexlet.ports.clock import Clock

if TYPE_CHECKING:
    from flexlet.core.machine.parts import Part


class Generations:
    """One owner: the resizer; `prepared` is of `preparing`. A size is on disk before anything goes by it."""

    def __init__(self, files: Checkpoints, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._saved: Saved
        self._turns = asyncio.Lock()
        self.before: Generation
        """Where a plan begins: the last size for which everything was done."""
        self.unfinished: Generation | None = None
        """A later one that counts already."""
        self.left_now: Callable[[], Iterable[Part]] = lambda: ()
        """Parts that somebody has taken offline; set by whoever looks at them."""
        self.left_before: frozenset[Part] = frozenset()
        """Those that were offline on purpose when the agent started."""

    @property
    def current(self) -> Generation:
        """The size that counts."""
        return self.unfinished or self.before

    @property
    def tried(self) -> tuple[Machine, ...]:
        """Sizes that were begun and never counted: something may still be as they wanted it."""
        return self._saved.tried

    @property
    def worn(self) -> tuple[Machine, ...]:
        """Sizes whose values some containers may still have."""
        return self._saved.worn

    @property
    def notes(self) -> tuple[str, ...]:
        """What remained when the last size was done."""
        number = self.before.number
        return next((each.notes for each in self._saved.stories if each.number == number), ())

    @property
    def has_evicted(self) -> bool:
        """Whether pods were evicted for a size that is not finished."""
        current = self.unfinished
        return current is not None and any(
            each.victims for each in self._saved.stories if each.number == current.number
        )

    @property
    def prepared(self) -> Prepared:
        """How far an announced unplug is, as the file has it."""
        return self._saved.prepared

    async def open(self, machine: Machine, settings: ResizeSettings) -> None:
        """Go on from what an earlier agent left; a file that cannot be read is kept beside."""
        found = await restored(self._files, saved.FILE, _parse)
        self.left_before = frozenset() if found is None else saved.left_offline(found, machine)
        begun = saved.begin(found, machine, self._clock.now(), settings)
        self._saved, self.before, self.unfinished = begun.saved, begun.before, begun.unfinished
        if begun.earlier is not None and difference(begun.earlier.machine, machine):
            # Pods that an earlier agent let in are asked again: the machine is another since it was started anew.
            self.before, self.unfinished = begun.earlier, begun.before
            self._saved = msgspec.structs.replace(begun.saved, before=begun.earlier)
        if self._saved != found:
            await self._write()

    async def attempt(self, machine: Machine) -> None:
        """Work for another size begins; HostError, and nothing has changed, if that cannot be written."""
        if saved.attempted(self._saved, machine) != self._saved:
            await self._change(lambda known: saved.attempted(known, machine))

    async def publish(self, plan: ResizePlan, tenants: Iterable[Tenant]) -> None:
        """A new size counts from now on; HostError, and nothing has changed, if that cannot be written."""
        now, left = self._clock.now(), self.left_now()
        await self._change(lambda known: saved.published(known, plan, tenants, now, left))
        self.unfinished = self._saved.generation

    async def prepare(self, state: Prepared) -> None:
        """An announced unplug is as far as this; HostError, and nothing has changed, if that cannot be written."""
        if state != self.prepared:
            await self._change(lambda known: msgspec.structs.replace(known, prepared=state))

    async def finish(self, *, forced: bool) -> None:
        """Everything is done for it; HostError, and it is as unfinished as before, if that cannot be written."""
        await self._change(lambda known: saved.finished(known, self._clock.now(), forced=forced))
        self.before, self.unfinished = self._saved.generation, None

    async def outlive(self, worn: tuple[Machine, ...]) -> None:
        """No container has values of these sizes any more."""
        rest = tuple(each for each in self.worn if each not in worn)
        await self._change(lambda known: msgspec.structs.replace(known, worn=rest))

    async def _change(self, change: Callable[[Saved], Saved]) -> None:
        """One after the other, so that the file never has less than was promised."""
        async with self._turns:
            before, self._saved = self._saved, change(self._saved)
            try:
                await self._write()
            except HostError:
                self._saved = before
                raise

    async def _write(self) -> None:
        await self._files.save(saved.FILE, saved.encode(self._saved))


def _parse(raw: bytes) -> Saved:
    found = saved.parse(raw)
    if isinstance(found, Spoiled):
        raise InputError(found.why)
    return found
