"""A node whose size is a wish, and one pod on it: what is done to them, and how long each answer takes."""

import time
from typing import Any, Final

import msgspec

from bench.podwatch import NAMESPACE, Holds, Json, PodWatch, all_running, gone
from bench.vmturns import NODE
from flexlet.api.status import NotFound
from flexlet.core.nodesize import manifest, names
from flexlet.ports.cluster import PODS, Cluster, Ref

SIZES: Final = Ref(*names.NODE_SIZES)
BALLOON: Final = manifest.name_of(NODE)
SMALL: Final = {"cpu": "200m", "memory": "128Mi"}
LARGE: Final = {"cpu": "700m", "memory": "512Mi"}
FULL: Final = {"cpu": "1900m", "memory": "128Mi"}
"""More than is left beside the pod that runs."""
_WEB: Final = "web"
_NOW: Final = {"gracePeriodSeconds": 0}


class Sample(msgspec.Struct):
    """Seconds of each kind, and how many were hurt."""

    inflate: list[float] = []
    deflate: list[float] = []
    refused: list[float] = []
    counted: list[float] = []
    """From the delete to a new balloon that schedulers count."""
    running: list[float] = []
    victims: int = 0


class Ballooned:
    """The API, and what is watched of it."""

    def __init__(self, cluster: Cluster, pods: PodWatch, balloons: PodWatch, wishes: PodWatch) -> None:
        self._cluster = cluster
        self._pods = pods
        self._balloons = balloons
        self._wishes = wishes
        self._run = ""

    async def begin(self) -> None:
        """A pod that must live through all of it, and a small balloon."""
        self._forget()
        await self._cluster.create(PODS, NAMESPACE, _pod())
        await self._pods.when(_WEB, all_running, "running")
        self._run = await self._run_now()
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": NODE},
            "spec": _spec(SMALL),
        }
        await self._cluster.create(SIZES, "", body)
        await self._balloons.when(BALLOON, allocated(SMALL), "as small as it should be")
        await self._wishes.when(NODE, answered(1), "answered")

    async def resize(self, amounts: dict[str, str]) -> float:
        """Seconds from the wish to the node's grant."""
        began, generation = await self._wish(amounts)
        seconds = await self._balloons.when(BALLOON, allocated(amounts), "resized") - began
        await self._wishes.when(NODE, answered(generation), "answered")
        return seconds

    async def refuse(self) -> float:
        """Seconds from a wish that cannot be met to its refusal, in full and with nothing left waiting."""
        began, generation = await self._wish(FULL)
        seconds = await self._wishes.when(NODE, answered(generation, "Insufficient"), "refused") - began
        await self.resize(SMALL)
        return seconds

    async def lose(self) -> tuple[float, float]:
        """Seconds from a balloon's end to one that is counted, and to one that runs with its size."""
        self._forget()
        before = await self._uid()
        began = time.monotonic()
        await self._cluster.delete(PODS, names.NAMESPACE, BALLOON, _NOW)
        counted = await self._balloons.when(BALLOON, another(before), "made again") - began
        running = await self._balloons.when(BALLOON, another(before, SMALL), "running again") - began
        return counted, running

    async def hurt(self) -> int:
        """How many runs of the pod's container have ended."""
        return int(await self._run_now() != self._run)

    async def end(self) -> None:
        """Leave nothing behind."""
        self._forget()
        await self._cluster.delete(SIZES, "", NODE)
        await self._cluster.delete(PODS, NAMESPACE, _WEB)
        await self._wishes.when(NODE, gone, "gone")
        await self._pods.when(_WEB, gone, "gone")

    async def _wish(self, amounts: dict[str, str]) -> tuple[float, int]:
        self._forget()
        began = time.monotonic()
        raw = await self._cluster.patch(SIZES, "", NODE, {"spec": _spec(amounts)})
        return began, int(msgspec.json.decode(raw)["metadata"]["generation"])

    async def _run_now(self) -> str:
        try:
            pod = msgspec.json.decode(await self._cluster.get(PODS, NAMESPACE, _WEB))
        except NotFound:
            return ""
        return str([(each["containerID"], each["restartCount"]) for each in pod["status"]["containerStatuses"]])

    async def _uid(self) -> str:
        pod = msgspec.json.decode(await self._cluster.get(PODS, names.NAMESPACE, BALLOON))
        return str(pod["metadata"]["uid"])

    def _forget(self) -> None:
        for watch in (self._pods, self._balloons, self._wishes):
            watch.forget()


def allocated(amounts: dict[str, str]) -> Holds:
    """Whether the node has granted a balloon this size."""

    def holds(pod: Json | None) -> bool:
        statuses = ((pod or {}).get("status") or {}).get("containerStatuses") or ()
        return [each.get("allocatedResources") for each in statuses] == [amounts]

    return holds


def another(uid: str, amounts: dict[str, str] | None = None) -> Holds:
    """Whether there is another balloon than this one, bound, and with this size if one is given."""

    def holds(pod: Json | None) -> bool:
        is_new = pod is not None and pod["metadata"]["uid"] != uid and bool(pod["spec"].get("nodeName"))
        return is_new and (amounts is None or (allocated(amounts)(pod) and all_running(pod)))

    return holds


def answered(generation: int, condition: str = "") -> Holds:
    """Whether a wish is dealt with, in a way that this condition tells."""

    def holds(size: Json | None) -> bool:
        status = (size or {}).get("status") or {}
        true = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
        is_over = status.get("observedGeneration") == generation and "Resizing" not in true
        return is_over and (condition or "Ready") in true

    return holds


def _spec(amounts: dict[str, str]) -> Json:
    return {"target": {"balloon": amounts}, "onInsufficient": "Fail"}


def _pod() -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "busybox:1",
        "imagePullPolicy": "Never",
        "command": ["sleep", "1000000"],
        "resources": {"requests": {"cpu": "200m", "memory": "64Mi"}},
    }
    spec = {
        "nodeName": NODE,
        "containers": [container],
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": _WEB}, "spec": spec}
