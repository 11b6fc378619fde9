"""The node's Lease: a small object renewed every few seconds, so that the cluster notices when it is not.

It is made when the Node's uid is known and belongs to the Node, so that it goes when the Node goes. Renewals are
patches: there is no other writer to be in conflict with.
"""

from typing import Any, Final

from flexlet.api import age
from flexlet.core.actions import ApiAction, CreateObject, PatchObject
from flexlet.core.node import spread
from flexlet.core.observations import Failed
from flexlet.core.refs import LEASES
from flexlet.core.views.lease import NODE_LEASES

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 7.0


def lease(node: str, uid: str, duration_s: int, now: float) -> dict[str, Any]:
    """The body of a new Lease."""
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": node, "namespace": NODE_LEASES, "ownerReferences": [_owner(node, uid)]},
        "spec": _spec(node, duration_s, now),
    }


class OwnLease:
    """When the Lease is due, and whether it has to be made first."""

    def __init__(self, node: str, duration_s: int) -> None:
        self._node = node
        self._duration_s = duration_s
        self._owner = ""
        self._exists = False
        self._failures = 0
        self._count = 0
        self._sent = False
        self.due = 0.0

    def decide(self, uid: str, now: float) -> list[ApiAction]:
        """The renewal, if it is time; `uid` is the Node's."""
        if self._sent:
            self._sent = False
            self.due = now + self._pause()
        if uid != self._owner:
            self.due = now
        if now < self.due:
            return []
        self._sent = True
        self._count += 1
        action = self._renewal(uid, now) if self._exists else self._creation(uid, now)
        self._owner = uid
        self._exists = True
        return [action]

    def failed(self, failure: Failed) -> None:
        """A Lease that is there is renewed, one that is gone is made, and trouble is met with growing pauses."""
        self._failures += 1
        if isinstance(failure.action, CreateObject):
            self._exists = failure.code == 409
            self._owner = "" if failure.code == 409 else self._owner
        elif failure.code == 404:
            self._exists = False

    def renewed(self) -> None:
        """The server has it."""
        self._failures = 0

    def _pause(self) -> float:
        period = spread.jittered(self._duration_s / 4, self._node, self._count)
        pause = _FIRST_PAUSE_S * 2 ** min(self._failures - 1, 10)
        return min(pause, _LONGEST_PAUSE_S, period) if self._failures else period

    def _creation(self, uid: str, now: float) -> CreateObject:
        body = lease(self._node, uid, self._duration_s, now)
        return CreateObject(ref=LEASES, namespace=NODE_LEASES, body=body)

    def _renewal(self, uid: str, now: float) -> PatchObject:
        patch: dict[str, Any] = {"spec": _spec(self._node, self._duration_s, now)}
        if uid != self._owner:
            patch["metadata"] = {"ownerReferences": [_owner(self._node, uid)]}
        return PatchObject(ref=LEASES, namespace=NODE_LEASES, name=self._node, patch=patch)


def _spec(node: str, duration_s: int, now: float) -> dict[str, Any]:
    return {"holderIdentity": node, "leaseDurationSeconds": duration_s, "renewTime": age.format_micro(now)}


def _owner(node: str, uid: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
