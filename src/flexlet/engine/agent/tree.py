"""The cgroups above the pods: kubepods and the tiers of the QoS classes, kept as pods and machine need them.

`node` is called when the machine was looked at, `pods` when allocations may have changed. Only what differs from
the last write is written.
"""

import asyncio
from collections.abc import Iterable, Mapping

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.cgroups import root, values
from flexlet.core.cgroups.paths import tier_path
from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.cgroups.tiers import tier_values
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED
from flexlet.ports.cgroups import CgroupTree


class PodTree:
    """Owner of everything between the root of the tree and the pods' own cgroups."""

    def __init__(
        self,
        cgroups: CgroupTree,
        driver: str,
        reservation: Reservation,
        settings: CgroupSettings,
        *,
        enforce: bool = True,
    ) -> None:
        self._cgroups = cgroups
        self._driver = driver
        self._reservation = reservation
        self._settings = settings
        self._enforce = enforce
        self._written: dict[str, dict[str, str]] = {}
        self._sizes: tuple[int, ...] = ()
        self._lock = asyncio.Lock()

    async def node(self, capacity: ResourceList, hugepage_sizes: Iterable[int] = ()) -> None:
        """Make the tree, and hold all pods together to what the machine has for them."""
        self._sizes = tuple(hugepage_sizes)
        whole = root.kubepods_values(capacity, self._reservation, enforce=self._enforce)
        for qos in (GUARANTEED, BURSTABLE, BEST_EFFORT):
            await self._cgroups.create(tier_path(qos, self._driver))
        await self._write(tier_path(GUARANTEED, self._driver), values.files(whole))

    async def pods(self, pods: Iterable[Pod]) -> None:
        """Weigh the tiers by what their pods request."""
        found = tier_values(pods, self._settings, hugepage_sizes=self._sizes)
        for qos, wanted in found.items():
            await self._write(tier_path(qos, self._driver), values.files(wanted))

    async def _write(self, path: str, files: Mapping[str, str]) -> None:
        async with self._lock:
            known = self._written.setdefault(path, {})
            changed = {name: text for name, text in files.items() if known.get(name) != text}
            if changed:
                await self._cgroups.write(path, changed)
                known.update(changed)
