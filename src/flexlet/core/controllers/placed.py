"""Pods by the node they are bound to."""

from collections.abc import Collection

from flexlet.core.views.pod import PodView


class PlacedPods:
    """An index of bound pods."""

    def __init__(self) -> None:
        self._on: dict[str, dict[str, PodView]] = {}
        self._where: dict[str, str] = {}

    def put(self, pod: PodView) -> PodView | None:
        """A pod was seen; what it was before, if it was bound."""
        before = self.remove(pod.uid)
        if pod.node:
            self._where[pod.uid] = pod.node
            self._on.setdefault(pod.node, {})[pod.uid] = pod
        return before

    def remove(self, uid: str) -> PodView | None:
        """A pod is gone; what it was."""
        node = self._where.pop(uid, None)
        if node is None:
            return None
        here = self._on[node]
        pod = here.pop(uid)
        if not here:
            del self._on[node]
        return pod

    def get(self, uid: str) -> PodView | None:
        """A bound pod."""
        node = self._where.get(uid)
        return None if node is None else self._on[node][uid]

    def on(self, node: str) -> Collection[PodView]:
        """The pods of a node."""
        return self._on.get(node, {}).values()
