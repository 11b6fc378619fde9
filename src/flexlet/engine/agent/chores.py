"""What a node does now and then: rotate logs, sweep up what pods left behind, give back what it does not need."""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

from flexlet.api.units import PodUid
from flexlet.core.agent.deeds import RemoveContainer
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.paths import pod_of, tier_path
from flexlet.core.eviction.evictor import CONTAINERS, IMAGES
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.images import ImageKeeper
from flexlet.engine.agent.loop import AgentLoop, Hands
from flexlet.engine.agent.watching import Watching
from flexlet.errors import HostError, RuntimeFault
from flexlet.ports.clock import Clock

SWEEP_S: Final = 60.0

log: Final = logging.getLogger(__name__)


class LogRotator(Protocol):
    """Whoever keeps logs small."""

    async def rotate(self, logs: Sequence[tuple[str, Path]]) -> None:
        """Look at the logs of running containers, given by id and path."""
        ...


class LogSweeper(Protocol):
    """Whoever knows where logs lie."""

    async def sweep(self, known: Collection[str]) -> None:
        """Remove the logs of pods whose uids are not known, and links that lead nowhere."""
        ...


class LogChore:
    """Has the logs of running containers rotated."""

    def __init__(self, loop: AgentLoop, rotator: LogRotator, clock: Clock, every_s: float) -> None:
        self._loop = loop
        self._rotator = rotator
        self._clock = clock
        self._every_s = every_s

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(self._every_s)
            logs = running_logs(self._loop.world)
            if logs:
                await self._rotator.rotate(logs)


def running_logs(world: World) -> list[tuple[str, Path]]:
    """Ids and logs of the containers that run."""
    shown = [record.shown for record in world.pods.values() if record.shown is not None]
    return [(run.id, Path(run.log_path)) for pod in shown for run in pod.running if run.log_path]


class Sweeping:
    """Removes directories, cgroups, logs and entries of pods nobody knows; only once all sources were heard."""

    def __init__(
        self,
        loop: AgentLoop,
        tools: Tools,
        watching: Watching,
        awaited: Callable[[], Iterable[str]],
        sweeper: LogSweeper | None = None,
    ) -> None:
        self._loop = loop
        self._tools = tools
        self._watching = watching
        self._awaited = awaited
        self._sweeper = sweeper

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._tools.clock.sleep(SWEEP_S)
            try:
                await self.sweep()
            except HostError as error:
                log.warning("cannot remove what a pod left behind: %s", error)

    async def sweep(self) -> None:
        """Once; `awaited` are uids of pods that have yet to come."""
        known = {*self._loop.world.pods, *self._watching.known, *self._awaited()}
        books = self._tools.ledger
        strangers = {*books.allocated.uids(), *books.actuated.uids()} - known
        books.forget(*map(PodUid, strangers))
        # Asked anew for each: a pod may have come while another was swept up.
        for uid in await self._tools.files.known():
            if uid not in known and uid not in self._loop.world.pods:
                await self._tools.files.remove_pod(uid)
        for path, uid in await self._pod_cgroups():
            if uid not in known and uid not in self._loop.world.pods:
                await self._tools.cgroups.remove(path)
        if self._sweeper is not None:
            await self._sweeper.sweep(known | self._loop.world.pods.keys())

    async def _pod_cgroups(self) -> list[tuple[str, PodUid]]:
        """The cgroups of all pods; an agent may have died before it came to remove one."""
        tiers = [tier_path(qos, self._loop.world.setup.driver) for qos in (GUARANTEED, BURSTABLE, BEST_EFFORT)]
        found = [(tier, name) for tier in tiers for name in await self._tools.cgroups.children(tier)]
        return [(f"{tier}/{name}", uid) for tier, name in found if (uid := pod_of(name)) is not None]


class Reclaiming:
    """Gives back what the node itself does not need, before a pod has to go."""

    def __init__(self, loop: AgentLoop, hands: Hands, images: ImageKeeper) -> None:
        self._loop = loop
        self._hands = hands
        self._images = images

    async def __call__(self, what: Iterable[str]) -> None:
        """In the order asked for; what cannot be given back now stays."""
        for each in what:
            if each == CONTAINERS:
                await self._remove_ended()
            elif each == IMAGES:
                await self._free_images()

    async def _remove_ended(self) -> None:
        """Containers of pods that have ended: they were kept for their logs."""
        for record in self._loop.world.pods.values():
            if record.stopped:
                await self._remove_runs(record)

    async def _remove_runs(self, record: PodRecord) -> None:
        for run in record.shown.containers if record.shown is not None else ():
            if not run.is_running:
                deed = RemoveContainer(uid=record.uid, container=run.name, container_id=run.id)
                await self._hands.do(deed, record, self._loop.world)

    async def _free_images(self) -> None:
        try:
            await self._images.free_all()
        except RuntimeFault as fault:
            log.warning("cannot free images: %s", fault.detail)
