"""Who may stay on a node that became smaller.

The node is emptied in thought and filled again, one pod after the other, the most important first; each sees only
those before it. (Asking the ordinary admission about a running pod would count everybody else as present, and
refuse all of them.) A pod that does not fit is left out and the walk goes on, so a smaller one later may stay.

Balloons pay first: they are taken for as small as they can be until everybody else has been asked, and then get
what is left of what they had. They are never ended, nor are static, mirrored and critical pods. Pods that are
leaving anyway are neither asked nor counted.

Must stay true: whoever is ended would not have fitted beside those before it that stay.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.core.hotplug import victims
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.hotplug.victims import Victim
from flexlet.core.resize import balloons
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resources import fit
from flexlet.core.resources.amounts import as_integers
from flexlet.core.resources.fit import Shortage
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_extended, is_hugepages
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED

CPU_OVERCOMMITTED: Final = "CPUOvercommitted"
CRITICAL_OVER_CAPACITY: Final = "CriticalOverCapacity"

_FIRST: Final = (PODS, CPU, MEMORY, EPHEMERAL_STORAGE)
_CLASSES: Final = (GUARANTEED, BURSTABLE, BEST_EFFORT)


class Readmission(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for all pods of a node."""

    stays: tuple[str, ...] = ()
    """Uids, the most important first; balloons come last."""
    victims: tuple[Victim, ...] = ()
    """In the order in which they were asked."""
    allocations: dict[str, Allocation] = {}
    """Of balloons that become smaller, by uid."""
    notes: tuple[str, ...] = ()
    """Reasons for the condition NodeResize."""


def readmitted(candidates: Iterable[Tenant], allocatable: ResourceList, settings: ResizeSettings) -> Readmission:
    """Fill the node again; `allocatable` is the new one as the node computed it, whatever the API says."""
    present = [each for each in candidates if not each.leaving]
    floating = in_order((each for each in present if each.is_balloon), settings)
    walk = _Walk(allocatable, settings)
    asked = in_order((each for each in present if not each.is_balloon), settings)
    for each in asked:
        if each.is_critical:
            walk.ask(each)
    for each in floating:
        walk.take(balloons.smallest(each.pod))
    for each in asked:
        if not each.is_critical:
            walk.ask(each)
    allocations = balloons.filled([each.pod for each in floating], allocatable, walk.used)
    return Readmission(
        stays=(*walk.stays, *(each.uid for each in floating)),
        victims=tuple(walk.victims),
        allocations=allocations,
        notes=walk.notes(),
    )


def in_order(pods: Iterable[Tenant], settings: ResizeSettings) -> list[Tenant]:
    """The most important first; in both orders critical pods come before all others."""
    by_age = sorted(pods, key=lambda each: (each.pod.metadata.creation_timestamp or "", each.uid))
    if settings.order == "creation":
        return sorted(by_age, key=lambda each: not each.is_critical)
    return sorted(by_age, key=lambda each: (not each.is_critical, -each.priority, _CLASSES.index(each.qos)))


class _Walk:
    """One walk over the pods; `used` is what those hold who were let in so far."""

    def __init__(self, allocatable: ResourceList, settings: ResizeSettings) -> None:
        self._allocatable = allocatable
        self._settings = settings
        self._pods = 0
        self._over: set[str] = set()
        self.used: dict[str, int] = {}
        self.stays: list[str] = []
        self.victims: list[Victim] = []

    def ask(self, tenant: Tenant) -> None:
        """Let the pod in, or not."""
        short = self._shortages(tenant.requests)
        if tenant.is_critical:
            self._over.update({CRITICAL_OVER_CAPACITY} if short else ())
        elif hard := [each for each in short if not self._tolerates(each)]:
            self.victims.append(victims.short_of(tenant, hard[0], self._settings))
            return
        elif short:
            self._over.add(CPU_OVERCOMMITTED)
        self.stays.append(tenant.uid)
        self.take(tenant.requests)

    def take(self, requests: ResourceList) -> None:
        """Count a pod that is in."""
        self._pods += 1
        for name, amount in as_integers(requests).items():
            self.used[name] = self.used.get(name, 0) + amount

    def notes(self) -> tuple[str, ...]:
        """What does not fit and stays all the same."""
        return tuple(sorted(self._over))

    def _shortages(self, requests: ResourceList) -> Sequence[Shortage]:
        """What is missing, in the order in which it is told; what nobody advertises here is not asked for."""
        wanted = {n: a for n, a in requests.items() if n in self._allocatable or not is_extended(n)}
        found = fit.shortages(wanted, self._allocatable, self.used, self._pods)
        return sorted(found, key=lambda each: _rank(each.resource))

    def _tolerates(self, short: Shortage) -> bool:
        return short.resource == CPU and self._settings.cpu == "Tolerate"


def _rank(name: str) -> tuple[int, bool, str]:
    place = _FIRST.index(name) if name in _FIRST else len(_FIRST)
    return (place, not is_hugepages(name), name)
