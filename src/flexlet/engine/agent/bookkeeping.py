"""The books of the resource managers, from the agent's start on: read, believed or mended, and kept on disk.

Nobody is let in before the books are there. What is given back when pods end is written by the way, at the latest
after two seconds; what is given away is written before it is used (`books`).
"""

import logging
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.core.agent import managing
from flexlet.core.agent.beginning import begun
from flexlet.core.agent.world import World
from flexlet.core.machine.machine import Machine
from flexlet.core.managers import starting
from flexlet.core.managers.state import Managers
from flexlet.core.runtime.shown import RuntimePod
from flexlet.engine.agent import present
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.watching import Watching
from flexlet.errors import HostError, InputError, RuntimeFault

log: Final = logging.getLogger(__name__)

_PERIOD_S: Final = 2.0
_SOON_S: Final = 0.25
_PATIENCE_S: Final = 1.0


class Bookkeeping:
    """A duty of the agent; does nothing on a node that manages nothing and has no files."""

    def __init__(self, loop: AgentLoop, tools: Tools, watching: Watching) -> None:
        self._loop = loop
        self._tools = tools
        self._watching = watching
        self._files = tools.ledger.managers
        self._is_on = False
        self._running: dict[str, dict[str, CpuSet]] = {}

    def check(self, machine: Machine) -> None:
        """Whether the settings can work on this machine; ConfigError says why not. The files are read."""
        settings = self._loop.world.setup.managers
        self._is_on = managing.is_on(self._loop.world.setup) or bool(self._files.found.by_name())
        if self._is_on:
            starting.start(settings, machine, self._files.found, {}, ())

    async def look(self) -> None:
        """See what the running containers have, for the case that the files do not tell."""
        while self._is_on:
            try:
                uids = {each.uid for each in await self._tools.runtime.overview()}
                found = [await self._tools.runtime.inspect(uid) for uid in sorted(uids)]
            except RuntimeFault:
                await self._tools.clock.sleep(_PATIENCE_S)
            else:
                self._running = {each.uid: _sets(each) for each in found}
                return

    def listed(self, world: World, *, heard: bool = True) -> World:
        """The world in which pods may be let in; the books are begun once."""
        if world.listed:
            return world
        if self._is_on:
            world = self._begun(world, heard=heard)
        return present.changed(listed=True)(world)

    async def run(self) -> None:
        """Until cancelled."""
        while self._is_on:
            if not self._loop.world.complete and self._has_met_all():
                self._loop.tell(present.changed(complete=True))
            try:
                await self._files.keep()
            except HostError as error:
                log.warning("%s", error)
            await self._tools.clock.sleep(_PERIOD_S if self._loop.world.complete else _SOON_S)

    def _begun(self, world: World, *, heard: bool) -> World:
        found = begun(world, self._files.found, self._running, heard=heard)
        for sentence in found.started.repairs:
            log.warning("%s", sentence)
        self._files.distrust(found.started.spoiled)
        self._files.current = self._current
        self._loop.announce(found.events)
        return found.world

    def _current(self) -> Managers:
        return self._loop.world.managers

    def _has_met_all(self) -> bool:
        return self._watching.has_looked and all(uid in self._loop.world.pods for uid in self._watching.known)


def _sets(pod: RuntimePod) -> dict[str, CpuSet]:
    """The CPUs of the running containers of a pod, as far as the runtime tells."""
    found = {run.name: run.resources.cpuset_cpus for run in pod.running if run.resources is not None}
    return {name: cpus for name, text in found.items() if (cpus := _parsed(text))}


def _parsed(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except InputError:
        return CpuSet()
