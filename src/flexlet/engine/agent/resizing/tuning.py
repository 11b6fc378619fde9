"""Values of running containers that depend on the size of the node.

The runtime set them when the container started and does not follow; they are written where the kernel has them. A
process that has given itself another score keeps it: only the score that was ours is replaced.
"""

from typing import Final

from flexlet.core.hotplug.steps import TuneContainer
from flexlet.errors import HostError
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.oomscores import OomScores

_PASSES: Final = 5
"""Processes that start meanwhile inherit the old score; a few passes catch them."""


class Tuner:
    """Writes into the cgroups and processes of containers."""

    def __init__(self, cgroups: CgroupTree, scores: OomScores) -> None:
        self._cgroups = cgroups
        self._scores = scores

    async def tune(self, step: TuneContainer, path: str) -> str:
        """Bring one container to its values; what went wrong, empty if nothing did."""
        try:
            if step.files and await self._cgroups.exists(path):
                await self._cgroups.write(path, step.files)
            if step.oom_before:
                await self._rescore(path, step.oom_before, step.oom_after)
        except HostError as error:
            return str(error)
        return ""

    async def _rescore(self, path: str, before: tuple[int, ...], after: int) -> None:
        for _ in range(_PASSES):
            found = await self._scores.read(await self._cgroups.processes(path))
            ours = [pid for pid, score in found.items() if score in before]
            if not ours:
                return
            await self._scores.write(ours, after)
