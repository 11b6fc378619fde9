"""The cgroups above the pods: kubepods and the tiers of the QoS classes, kept as pods and machine need them.

One writer for all of it. `hold` says what kubepods shall have (the size of the node, or a squeeze on the way to a
smaller one), `cap` what it shall not exceed besides (a node made smaller than its machine); of two limits the
lower one is written. `pods` is called when allocations may have changed. Only what differs is written; what others
have changed since is found by `make`, from time to time, and written again.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api.pod import Pod
from flexlet.core.cgroups import values
from flexlet.core.cgroups.lower import lower, unlimited
from flexlet.core.cgroups.paths import tier_path
from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.cgroups.tiers import tier_values
from flexlet.core.hotplug.view import UNPINNED
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED
from flexlet.ports.cgroups import CgroupTree

_CPUS: Final = "cpuset.cpus"
_EFFECTIVE: Final = "cpuset.cpus.effective"
_ROOT: Final = ""

log: Final = logging.getLogger(__name__)


class PodTree:
    """Owner of everything between the root of the tree and the pods' own cgroups."""

    def __init__(
        self, cgroups: CgroupTree, driver: str, settings: CgroupSettings, *, is_shared: bool = False
    ) -> None:
        self._cgroups = cgroups
        self._is_shared = is_shared
        """Whether other agents of this host write to the same cgroups: they would undo each other's work."""
        self._driver = driver
        self._settings = settings
        self._held: dict[str, str] = {}
        self._cap: dict[str, str] = {}
        self._written: dict[str, dict[str, str]] = {}
        self._kept: dict[str, dict[str, str]] = {}
        """How it read then: the kernel rounds, so that is not always what was written."""
        self._sizes: tuple[int, ...] = ()
        self._lock = asyncio.Lock()

    @property
    def path(self) -> str:
        """Where all pods are."""
        return tier_path(GUARANTEED, self._driver)

    async def make(self) -> None:
        """Make the tree, or what somebody removed or changed of it, with the values it had."""
        if not await self._cgroups.exists(self.path):
            self._written.clear()
        for qos in (GUARANTEED, BURSTABLE, BEST_EFFORT):
            await self._cgroups.create(tier_path(qos, self._driver))
        await self._write(self.path, lower(self._held, self._cap))
        for path in () if self._is_shared else tuple(self._written):
            await self._restore(path)

    async def hold(self, files: Mapping[str, str], hugepage_sizes: Iterable[int] | None = None) -> None:
        """Hold all pods together to these values; files that are not named keep theirs."""
        if hugepage_sizes is not None:
            self._sizes = tuple(hugepage_sizes)
        self._held = {**self._held, **files}
        await self._write(self.path, lower(self._held, self._cap))

    async def cap(self, files: Mapping[str, str]) -> None:
        """Let all pods together have no more than this; nothing for no cap."""
        # Once capped a file is always written, or nobody would open it again.
        self._held = {**unlimited(files), **self._held}
        self._cap = dict(files)
        # An agent that begins caps first, and makes the tree then.
        if await self._cgroups.exists(self.path):
            await self._write(self.path, lower(self._held, self._cap))

    async def used(self) -> int:
        """The memory that all pods together use now."""
        found = await self._cgroups.read(self.path, ("memory.current",))
        return int(found.get("memory.current", "0"))

    async def pods(self, pods: Iterable[Pod]) -> None:
        """Weigh the tiers by what their pods request."""
        found = tier_values(pods, self._settings, hugepage_sizes=self._sizes)
        for qos, wanted in found.items():
            path = tier_path(qos, self._driver)
            # The top tier is the cgroup of all pods, which is held to the machine.
            taken = self._held if path == self.path else {}
            files = {name: text for name, text in values.files(wanted).items() if name not in taken}
            await self._write(path, files)

    async def _write(self, path: str, files: Mapping[str, str]) -> None:
        async with self._lock:
            known = self._written.setdefault(path, {})
            wanted = await self._unpinned(path, files) if files.get(_CPUS) == UNPINNED else files
            changed = {name: text for name, text in wanted.items() if known.get(name) != text}
            if changed:
                await self._put(path, changed)
                known.update(changed)

    async def _restore(self, path: str) -> None:
        """Write again what does not read as it did."""
        async with self._lock:
            known, kept = self._written.get(path, {}), self._kept.get(path, {})
            found = await self._cgroups.read(path, tuple(known))
            lost = {name: text for name, text in known.items() if found.get(name) != kept.get(name)}
            if lost:
                log.warning("somebody changed %s of %s: written again as %s", _only(found, lost), path, lost)
                await self._put(path, lost)

    async def _put(self, path: str, files: Mapping[str, str]) -> None:
        await self._cgroups.write(path, files)
        self._kept.setdefault(path, {}).update(await self._cgroups.read(path, tuple(files)))

    async def _unpinned(self, path: str, files: Mapping[str, str]) -> dict[str, str]:
        """The kernel takes no pin away while processes run below it: then it is widened to every CPU there is."""
        others = {name: text for name, text in files.items() if name != _CPUS}
        pin = await self._cgroups.read(path, (_CPUS,))
        if not pin.get(_CPUS, "").strip():
            return others
        every = await self._cgroups.read(_ROOT, (_EFFECTIVE,))
        return {**others, _CPUS: every.get(_EFFECTIVE, "").strip()}


def _only(files: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: files[name] for name in names if name in files}
