"""How many pods the controllers of covered pods want: the whole that shares of a budget are of."""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.meta import OwnerReference
from flexlet.core.views.deployment import DeploymentView
from flexlet.core.views.replicaset import ReplicaSetView

_UNSCALED: Final = {"DaemonSet": "daemonsets.apps", "Job": "jobs.batch"}


class NoScale(msgspec.Struct, frozen=True):
    """A controller that does not say how many pods it wants, and why if it never will."""

    owner: OwnerReference
    message: str = ""


class Scales:
    """ReplicaSets and Deployments by uid."""

    def __init__(self) -> None:
        self._sets: dict[str, ReplicaSetView] = {}
        self._deployments: dict[str, DeploymentView] = {}

    def set_seen(self, rs: ReplicaSetView) -> bool:
        """A ReplicaSet was seen; whether that can change a budget."""
        before = self._sets.get(rs.uid)
        self._sets[rs.uid] = rs
        return before is None or (before.replicas, before.controller) != (rs.replicas, rs.controller)

    def deployment_seen(self, d: DeploymentView) -> bool:
        """A Deployment was seen; whether that can change a budget."""
        before = self._deployments.get(d.uid)
        self._deployments[d.uid] = d
        return before is None or before.replicas != d.replicas

    def gone(self, uid: str) -> None:
        """A ReplicaSet or Deployment is gone."""
        self._sets.pop(uid, None)
        self._deployments.pop(uid, None)

    def total(self, owners: Iterable[OwnerReference]) -> int | NoScale:
        """What all controllers together want."""
        sizes: dict[str, int] = {}
        for owner in owners:
            found = self._scale(owner)
            if isinstance(found, NoScale):
                return found
            sizes |= found
        return sum(sizes.values())

    def _scale(self, owner: OwnerReference) -> dict[str, int] | NoScale:
        if owner.kind in _UNSCALED:
            return NoScale(owner, f"{_UNSCALED[owner.kind]} does not implement the scale subresource")
        rs = self._sets.get(owner.uid)
        if rs is None:
            return NoScale(owner)
        if rs.controller is None or rs.controller.kind != "Deployment":
            return {rs.uid: rs.replicas}
        d = self._deployments.get(rs.controller.uid)
        return NoScale(owner) if d is None else {d.uid: d.replicas}
