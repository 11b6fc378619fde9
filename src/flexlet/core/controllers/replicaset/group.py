"""The pods of one ReplicaSet, counted as they change: a look at ten thousand of them must not cost a walk."""

from collections.abc import Iterator

from flexlet.core.controllers import readiness
from flexlet.core.views.pod import PodView
from flexlet.core.views.replicaset import ReplicaSetView


class Group:
    """Pods that name one ReplicaSet as their controller, which may not have been seen yet.

    Pods that match the selector count as active, or as terminating once they are being deleted, by us
    (`send_away`) or anyone. Those that do not are strays. Finished ones do not count.
    """

    __slots__ = ("_going", "_pods", "_rules", "active", "labelled", "ready", "strays", "terminating")

    def __init__(self) -> None:
        self._pods: dict[str, PodView] = {}
        self.strays: dict[str, PodView] = {}
        self._going: set[str] = set()
        self._rules: ReplicaSetView | None = None
        self.active = self.ready = self.labelled = self.terminating = 0

    def govern(self, rules: ReplicaSetView) -> None:
        """The ReplicaSet was seen; what changes the counting makes it start over."""
        before, self._rules = self._rules, rules
        if before and before.selector == rules.selector and before.template_labels == rules.template_labels:
            return
        self.active = self.ready = self.labelled = self.terminating = 0
        self.strays.clear()
        for pod in self._pods.values():
            self._count(pod, 1)

    def get(self, uid: str) -> PodView | None:
        """A pod as last put."""
        return self._pods.get(uid)

    def put(self, pod: PodView) -> None:
        """A pod is new or has changed."""
        self._take_out(pod.uid)
        self._pods[pod.uid] = pod
        self._count(pod, 1)

    def remove(self, uid: str) -> None:
        """A pod is gone, or belongs to another."""
        self._take_out(uid)
        self._going.discard(uid)

    def is_empty(self) -> bool:
        """Whether no pod is left."""
        return not self._pods

    def _take_out(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)

    def send_away(self, pod: PodView) -> None:
        """Its deletion is under way, though not yet seen."""
        self._count(pod, -1)
        self._going.add(pod.uid)
        self._count(pod, 1)

    def take_back(self, uid: str) -> None:
        """Its deletion was refused."""
        pod = self._pods.get(uid)
        if pod is not None and uid in self._going:
            self._count(pod, -1)
            self._going.discard(uid)
            self._count(pod, 1)

    def active_pods(self) -> Iterator[PodView]:
        """The pods that count as active."""
        return (
            pod
            for pod in self._pods.values()
            if pod.active and pod.uid not in self._going and pod.uid not in self.strays
        )

    def available(self, min_ready_seconds: int, now: float) -> int:
        """How many active pods are available."""
        if not min_ready_seconds:
            return self.ready
        return sum(readiness.is_available(pod, min_ready_seconds, now) for pod in self.active_pods())

    def _count(self, pod: PodView, sign: int) -> None:
        rules = self._rules
        if rules is None or pod.finished:
            return
        if not rules.selector.matches(pod.labels):
            self._count_stray(pod, sign)
        elif pod.deleted_at or pod.uid in self._going:
            self.terminating += sign
        else:
            self.active += sign
            self.ready += sign * pod.ready
            self.labelled += sign * (rules.template_labels.items() <= pod.labels.items())

    def _count_stray(self, pod: PodView, sign: int) -> None:
        if sign > 0 and not pod.deleted_at:
            self.strays[pod.uid] = pod
        else:
            self.strays.pop(pod.uid, None)
