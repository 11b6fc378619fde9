"""Leases of the hollow nodes: renewed every ten seconds, spread out so that they do not come all at once."""

import heapq
from typing import Final

from flexlet.api import age
from flexlet.core.actions import ApiAction, CreateObject, PatchObject
from flexlet.core.hollow.machine import lease_object
from flexlet.core.observations import Failed

LEASES: Final = ("coordination.k8s.io", "v1", "leases")
NAMESPACE: Final = "kube-node-lease"
RENEW_S: Final = 10.0


class Leases:
    """When each node must say again that it lives."""

    def __init__(self) -> None:
        self._due: list[tuple[float, str]] = []
        self._uids: dict[str, str] = {}
        self._made: set[str] = set()

    def add(self, node: str, uid: str) -> None:
        """A node is registered: its lease is due at once."""
        if node not in self._uids:
            heapq.heappush(self._due, (0.0, node))
        self._uids[node] = uid

    def next_due(self) -> float:
        """When the next renewal is due."""
        return self._due[0][0] if self._due else float("inf")

    def due(self, now: float) -> list[str]:
        """The nodes that must say it now; they are due again later."""
        names: list[str] = []
        while self._due and self._due[0][0] <= now:
            _, node = heapq.heappop(self._due)
            heapq.heappush(self._due, (now + RENEW_S, node))
            names.append(node)
        return names

    def renewal(self, node: str, now: float) -> ApiAction:
        """How a node says it."""
        if node not in self._made:
            self._made.add(node)
            return CreateObject(ref=LEASES, namespace=NAMESPACE, body=lease_object(node, self._uids[node], now))
        patch = {"spec": {"renewTime": age.format_micro(now), "holderIdentity": node}}
        return PatchObject(ref=LEASES, namespace=NAMESPACE, name=node, patch=patch)

    def failed(self, failure: Failed) -> None:
        """A lease that exists is patched next time, one that vanished is made again."""
        action = failure.action
        if isinstance(action, PatchObject) and action.ref == LEASES and failure.code == 404:
            self._made.discard(action.name)
