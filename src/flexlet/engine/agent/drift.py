"""Pods whose cgroups do not read as they did: somebody else has written to them.

Nothing is written here. Such a pod is looked at closely, and then its record differs from what was granted, which
is repaired as any other difference is.
"""

from typing import Final

from flexlet.core.agent.record import PodRecord
from flexlet.engine.agent.hands import looking
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop

_RESIZE: Final = "resize"


class PodDrift:
    """Looks over the cgroups of all pods."""

    def __init__(self, loop: AgentLoop, tools: Tools) -> None:
        self._loop = loop
        self._tools = tools

    async def look(self) -> None:
        """Once; RuntimeFault if a pod has to be looked at and the runtime does not answer."""
        for record in tuple(self._loop.world.pods.values()):
            if _is_at_rest(record) and await self._has_drifted(record):
                await looking.show(self._tools, record, self._loop.world)

    async def _has_drifted(self, record: PodRecord) -> bool:
        found = await looking.values(self._tools, looking.cgroup_path(record, self._loop.world))
        return found is not None and found != record.cgroup


def _is_at_rest(record: PodRecord) -> bool:
    """Whether nobody of ours writes to it now."""
    return record.cgroup is not None and not record.stopped and _RESIZE not in record.underway
