"""The pods of one Job that still matter: those that have not ended, and those that are not counted yet."""

from typing import Final

from flexlet.core.views.pod import PodView

FINALIZER: Final = "batch.kubernetes.io/job-tracking"


def is_tracked(pod: PodView) -> bool:
    """Whether the pod still waits to be counted."""
    return FINALIZER in pod.finalizers


class Gang:
    """Pods that name one Job as their controller; what is over and counted is not kept."""

    __slots__ = ("_going", "pods")

    def __init__(self) -> None:
        self.pods: dict[str, PodView] = {}
        self._going: set[str] = set()

    def get(self, uid: str) -> PodView | None:
        """A pod as last put."""
        return self.pods.get(uid)

    def put(self, pod: PodView) -> None:
        """A pod is new or has changed."""
        if pod.finished and not is_tracked(pod):
            self.remove(pod.uid)
        else:
            self.pods[pod.uid] = pod

    def remove(self, uid: str) -> None:
        """A pod is gone, or belongs to another."""
        self.pods.pop(uid, None)
        self._going.discard(uid)

    def is_empty(self) -> bool:
        """Whether no pod is left that matters."""
        return not self.pods

    def active(self) -> list[PodView]:
        """Pods that run, or will."""
        return [pod for pod in self.pods.values() if pod.active and pod.uid not in self._going]

    def terminating(self) -> list[PodView]:
        """Pods that are being deleted and have not ended."""
        return [pod for pod in self.pods.values() if not pod.finished and (pod.deleting or pod.uid in self._going)]

    def send_away(self, pod: PodView) -> None:
        """Its deletion is under way, though not yet seen."""
        self._going.add(pod.uid)

    def take_back(self, uid: str) -> None:
        """Its deletion was refused."""
        self._going.discard(uid)
