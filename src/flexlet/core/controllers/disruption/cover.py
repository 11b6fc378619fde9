"""The pods that one budget covers, counted as they change."""

from collections import Counter
from collections.abc import Iterable

from flexlet.api.meta import OwnerReference
from flexlet.core.views.pod import PodView


class Cover:
    """Covered pods; healthy are those that are ready and not being deleted."""

    __slots__ = ("_owners", "_pods", "healthy", "unmanaged")

    def __init__(self) -> None:
        self._pods: dict[str, PodView] = {}
        self._owners: Counter[OwnerReference] = Counter()
        self.healthy = 0
        self.unmanaged = 0

    def __len__(self) -> int:
        return len(self._pods)

    def put(self, pod: PodView) -> bool:
        """A covered pod was seen; whether that changes anything."""
        before = self._pods.get(pod.uid)
        if before == pod:
            return False
        self.remove(pod.uid)
        self._pods[pod.uid] = pod
        self._count(pod, 1)
        return True

    def remove(self, uid: str) -> bool:
        """A pod is gone or no longer covered; whether it was."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)
        return pod is not None

    def owners(self) -> Iterable[OwnerReference]:
        """The controllers."""
        return self._owners.keys()

    def pod_of(self, owner: OwnerReference) -> str:
        """The name of a pod that a controller has."""
        return next((pod.name for pod in self._pods.values() if pod.controller == owner), "")

    def named(self, names: Iterable[str]) -> dict[str, PodView]:
        """Covered pods by name, those that are not being deleted."""
        wanted = set(names)
        if not wanted:
            return {}
        return {pod.name: pod for pod in self._pods.values() if pod.name in wanted and not pod.deleting}

    def _count(self, pod: PodView, sign: int) -> None:
        self.healthy += sign * (pod.ready and not pod.deleting)
        owner = pod.controller
        if owner is None:
            self.unmanaged += sign
            return
        self._owners[owner] += sign
        if not self._owners[owner]:
            del self._owners[owner]
