"""The duty to tell other programs on the node of each of its sizes."""

import asyncio
import logging
from typing import Final

from flexlet.core.hotplug import notice
from flexlet.core.hotplug.generation import Generation
from flexlet.engine.agent.resizing.following import Following
from flexlet.errors import HostError
from flexlet.ports.clock import Clock
from flexlet.ports.notices import Notices

log: Final = logging.getLogger(__name__)

_AGAIN_S: Final = 10.0


class Noticing:
    """Made before the agent starts: the first size counts, too. The latest is what is told."""

    def __init__(self, node: str, following: Following, notices: Notices, clock: Clock) -> None:
        self._node = node
        self._following = following
        self._notices = notices
        self._clock = clock
        self._latest: Generation | None = None
        self._came = asyncio.Event()
        following.execution.counted = self._learn

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._serve())
            while True:
                await self._came.wait()
                self._came.clear()
                if not await self._tell():
                    await self._clock.sleep(_AGAIN_S)
                    self._came.set()

    def _learn(self, generation: Generation) -> None:
        self._latest = generation
        self._came.set()

    async def _tell(self) -> bool:
        if self._latest is None:
            return True
        told = notice.notice(self._node, self._latest, self._following.view(self._latest.machine))
        try:
            await self._notices.tell(notice.line(told))
        except HostError as error:
            log.warning("programs on this node may think that it has another size: %s", error)
            return False
        return True

    async def _serve(self) -> None:
        try:
            await self._notices.serve()
        except HostError as error:
            log.warning("programs on this node cannot listen for its size: %s", error)
