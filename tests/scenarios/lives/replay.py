"""A recorded life lived again: the same pods posted, the same things done to them, on a simulated node.

What a recording waited for (``seen: ...``) is waited for; what it did, it did some seconds after the step before,
and so is it done here. Times mean nothing otherwise: a simulated node starts a container at once.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from tests.lives.recording import Entry, Json, Life

from flexlet.api.status import ApiError, NotFound
from flexlet.apiserver.store.rows import Event
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE
from flexlet.ports.cluster import NAMESPACES, PODS, Ref
from flexlet.testing import NodeOptions, SimClock, SimCluster, SimulatedNode, idle
from flexlet.testing.cluster import serving
from flexlet.testing.host import GIB, KIB

NODE: Final = NodeOptions(
    memory=1959256 * KIB,
    config={"evictionHard": {"memory.available": "50Mi"}, "failSwapOn": False, "clusterDNS": ["10.96.0.10"]},
)
_MEMORY: Final = {"cpu-manager": 3007832 * KIB}
"""Of nodes that were larger when the life was recorded."""
_PATIENCE_S: Final = 400.0
_WARM_UP_S: Final = 0.5
"""So much of a container's life is seen at least; on the recorded node everything took longer."""
_PIDS: Final = 15231
_LOOK_S: Final = 3.0
"""The longest that a snapshot is waited for: what was to be looked at may not last longer."""
_SNAPSHOT: Final = re.compile(r"cgroup snapshot '([^']*?)(?: @([^' ]+))?'( of the QoS levels)?")
_APPENDED: Final = re.compile(r"printf '([^']*)'")
_TIERS: Final = ("kubepods", "kubepods/burstable", "kubepods/besteffort")
_STEPS_WITHOUT_DEED: Final = frozenset(
    {
        "set staticPodPath",
        "the kubelet runs",
        "the kubelet does not start",  # flexlet does, and mends its books
        "keep the old configuration",
        "node Ready is True",
        "usage",
        "kubelet log lines",
        "list the pod directory on the node",
        "environment and mounts of the container",
        "the filler gives memory back by its own resize",
    }
)


class Told(msgspec.Struct, kw_only=True):
    """What became of the pods."""

    watch: dict[str, list[Entry]] = {}
    events: dict[str, list[Json]] = {}
    """Of the node, by pod."""
    answers: list[tuple[int, Json]] = []
    """Code and generation or error of every resize."""
    cgroups: dict[str, Json] = {}
    scores: dict[str, int] = {}
    paths: dict[str, str] = {}


async def replay(life: Life, directory: Path) -> Told:
    """Live it again."""
    async with serving(SimClock()) as cluster:
        memory = _MEMORY.get(life.name, NODE.memory)
        node = SimulatedNode(cluster, directory, msgspec.structs.replace(NODE, memory=memory))
        node.sim.containerd.warm_up_s = _WARM_UP_S
        node.host.pids = _PIDS
        async with node.running():
            scheduling = asyncio.ensure_future(cluster.schedule())
            try:
                return await Replay(life, cluster, node).live()
            finally:
                scheduling.cancel()


class Replay:
    """One life under way."""

    def __init__(self, life: Life, cluster: SimCluster, node: SimulatedNode) -> None:
        self.life = life
        self.cluster = cluster
        self.node = node
        self.namespace = f"life-{life.name}"
        self.told = Told()
        self._first = next(iter(pods_of(life)))
        self._changed = asyncio.Event()
        self._is_ending = False
        self._config: Json = {}

    async def live(self) -> Told:
        await asyncio.sleep(1)
        await self.cluster.cluster.create(NAMESPACES, "", {"metadata": {"name": self.namespace}})
        self.cluster.store.subscribe("pods", self._note)
        before = 0.0
        for step in self.life.steps:
            await self._take(step, step["t_s"] - before)
            before = step["t_s"]
        await self._see_the_end(before)
        await self._read_events()
        return self.told

    def _note(self, event: Event) -> None:
        found = msgspec.json.decode(event.row.value)
        meta = found["metadata"]
        entries = self.told.watch.setdefault(meta["name"], [])
        entry = Entry(
            t_s=asyncio.get_running_loop().time(),
            type=event.type,
            generation=meta.get("generation", 0),
            deletion_grace=meta.get("deletionGracePeriodSeconds"),
            status=found["status"],
        )
        if self._is_ending and self._is_over():
            return
        if not entries or msgspec.structs.replace(entry, t_s=entries[-1].t_s) != entries[-1]:
            entries.append(entry)
        self._changed.set()

    async def _take(self, step: Json, pause: float) -> None:
        action = step["action"]
        if action.startswith("seen: "):
            await self._see(step, action.removeprefix("seen: "))
            return
        is_look = action.startswith("cgroup snapshot")
        await asyncio.sleep(min(pause, _LOOK_S) if is_look else pause)
        verb, _, rest = action.partition(" ")
        if action in _STEPS_WITHOUT_DEED:
            return
        if verb == "create":
            await self._create(step, rest)
        elif verb == "patch":
            await self._resize(step, rest.split("/")[1])
        elif action.startswith("delete pod"):
            name, _, grace = rest.removeprefix("pod ").partition(" gracePeriodSeconds=")
            await self.cluster.delete(name, self.namespace, int(grace) if grace else None)
        elif verb == "cgroup":
            self._snapshot(action)
        elif verb == "edit":
            self._edit(action)
        else:
            await _RARE[action](self)

    async def _create(self, step: Json, what: str) -> None:
        kind, _, name = what.partition(" ")
        if kind == "Pod":
            await self.cluster.create(PODS, self.life.manifests[name], self.namespace)
        else:
            await self.cluster.create(Ref("", "v1", f"{kind.lower()}s"), step["object"], self.namespace)

    async def _resize(self, step: Json, name: str) -> None:
        try:
            found = await self.cluster.resize(name, step["body"], self.namespace)
        except ApiError as error:
            body = msgspec.to_builtins(error.status)
            self.told.answers.append((error.code, {"message": body["message"]}))
        else:
            self.told.answers.append((200, {"generation": found["metadata"]["generation"]}))

    def _snapshot(self, action: str) -> None:
        found = _SNAPSHOT.fullmatch(action)
        assert found is not None, action
        title, pod, of_tiers = found.groups()
        if of_tiers:
            self.told.cgroups[title] = {path: self.node.cgroup(path) for path in _TIERS}
            return
        name = f"{title} @{pod}" if pod else title
        uid = self._uid(pod or self._first)
        self.told.cgroups[name] = self.node.pod_cgroups(uid)
        self.told.paths[pod or self._first] = (self.node.pod_path(uid) or "").replace(uid, "")
        prefix = f"{pod}/" if pod else ""
        for container, score in self.node.oom_scores(uid).items():
            self.told.scores.setdefault(prefix + container, score)

    def _uid(self, name: str) -> str:
        row = self.cluster.store.get("pods", f"{self.namespace}/{name}")
        if row is None:
            return ""
        meta = msgspec.json.decode(row.value)["metadata"]
        return str(meta.get("annotations", {}).get("kubernetes.io/config.mirror") or meta["uid"])

    # Waiting

    async def _see(self, step: Json, what: str) -> None:
        text, _, pod = what.removesuffix(")").rpartition(" (")
        known = pod in pods_of(self.life)
        name, text = (pod, text) if known else (self._first, what)
        predicate = _SEEN.get(text) or self._like(step, name)
        end = asyncio.get_running_loop().time() + _PATIENCE_S
        while not predicate(await self._pod(name)):
            left = end - asyncio.get_running_loop().time()
            assert left > 0, f"{self.life.name}: never seen of {name}: {what}: {await self._pod(name)}"
            await self._news(left)

    async def _see_the_end(self, last_step: float) -> None:
        """Recordings go on for a while after their last step; wait for what they saw last, if it comes."""
        self._is_ending = True
        loop = asyncio.get_running_loop()
        end = loop.time() + 1 + max(0.0, self.life.watch[-1].t_s - last_step)
        while not self._is_over() and loop.time() < end:
            await self._news(end - loop.time())
        await idle()

    def _is_over(self) -> bool:
        told = {name: each[-1] for name, each in self.told.watch.items()}
        last = {name: self.life.entries(name)[-1] for name in pods_of(self.life)}
        return all(name in told and _is_like(told[name], last[name]) for name in last)

    async def _news(self, most_s: float) -> None:
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(most_s, 1.0)):
                await self._changed.wait()

    async def _pod(self, name: str) -> Json | None:
        try:
            return await self.cluster.pod(name, self.namespace)
        except NotFound:
            return None

    def _like(self, step: Json, name: str) -> Callable[[Json | None], bool]:
        """What was seen then, by its shape."""
        last = [each for each in self.life.entries(name) if each.t_s <= step["t_s"]][-1]
        return lambda pod: pod is not None and shape(pod["status"]) == shape(last.status)

    async def _read_events(self) -> None:
        for each in await self.cluster.events(self.namespace):
            if each["source"]["component"] == "kubelet":
                self.told.events.setdefault(each["involvedObject"]["name"], []).append(each)

    # Rare deeds

    async def restart(self) -> None:
        await self.node.restart(**self._config)

    def _edit(self, action: str) -> None:
        """What was appended to the file."""
        found = _APPENDED.search(action)
        assert found is not None, action
        self._config = yaml.safe_load(found[1].replace("\\n", "\n"))

    async def restore(self) -> None:
        self._config = {}

    async def remove_state(self) -> None:
        name = MEMORY_FILE if self.life.name == "memory-manager" else CPU_FILE
        self.node.checkpoints.files.pop(name, None)

    async def plug(self) -> None:
        self.node.host.memory += GIB

    async def go_online(self) -> None:
        self.node.host.cpus = self.node.sim.kernel.machine.cpus = "0-3"

    async def plug_more(self) -> None:
        """Nothing is seen of CPUs that are not online."""

    async def unplug_one(self) -> None:
        self.node.host.cpus = self.node.sim.kernel.machine.cpus = "0-2"

    async def unplug_other(self) -> None:
        self.node.host.cpus = self.node.sim.kernel.machine.cpus = "0-1"

    async def write_manifest(self) -> None:
        self.node.manifests.write("st.yaml", self._manifest("100m"))

    async def change_manifest(self) -> None:
        self.node.manifests.write("st.yaml", self._manifest("200m"))

    async def remove_manifest(self) -> None:
        self.node.manifests.remove("st.yaml")

    async def delete_mirror(self) -> None:
        await self.cluster.delete(self._first, self.namespace, 0)

    def _manifest(self, limit: str) -> Json:
        manifest: Json = msgspec.json.decode(msgspec.json.encode(self.life.manifests["st"]))
        manifest["metadata"]["namespace"] = self.namespace
        manifest["spec"]["containers"][0]["resources"]["limits"]["cpu"] = limit
        return manifest

    async def remove_gate(self) -> None:
        await self._patch({"spec": {"schedulingGates": None}})

    async def set_condition(self) -> None:
        condition = {"type": "x/ready", "status": "True"}
        await self._patch({"status": {"conditions": [condition]}}, "status")

    async def add_ephemeral(self) -> None:
        found = self.life.watch[-1].status["ephemeralContainerStatuses"][0]
        container = {"name": found["name"], "image": "busybox:1", "command": ["sh", "-c", "exit 2"]}
        await self._patch({"spec": {"ephemeralContainers": [container]}}, "ephemeralcontainers")

    async def _patch(self, body: Json, subresource: str = "") -> None:
        await self.cluster.cluster.patch(
            PODS, self.namespace, self._first, body, kind="strategic", subresource=subresource
        )


_RARE: Final[dict[str, Callable[[Replay], Any]]] = {
    "restart the kubelet": Replay.restart,
    "restore": Replay.restore,
    "remove the state file": Replay.remove_state,
    "keep the old configuration, remove the state file": Replay.remove_state,
    "plug 2 CPUs": Replay.plug_more,
    "bring them online": Replay.go_online,
    "take CPU 3 offline": Replay.unplug_one,
    "CPU 3 online again": Replay.go_online,
    "plug 2 CPUs and 1 GiB": Replay.plug,
    "bring the CPUs online": Replay.go_online,
    "unplug one CPU": Replay.unplug_one,
    "unplug the second CPU and the memory": Replay.unplug_other,
    "write the manifest": Replay.write_manifest,
    "change the manifest (limit cpu 200m): new config hash, pod restarted": Replay.change_manifest,
    "remove the manifest": Replay.remove_manifest,
    "delete the mirror pod through the API": Replay.delete_mirror,
    "remove the scheduling gate": Replay.remove_gate,
    "set condition x/ready": Replay.set_condition,
    "add ephemeral container": Replay.add_ephemeral,
}


def pods_of(life: Life) -> list[str]:
    """The names of the pods; a static pod is called after its node."""
    return [f"{name}-{NODE.name}" if life.name == "static-pod" else name for name in life.manifests]


def _condition(pod: Json, kind: str) -> Json:
    found = [each for each in pod["status"].get("conditions", ()) if each["type"] == kind]
    return found[0] if found else {}


def _is_ready(pod: Json | None) -> bool:
    return pod is not None and _condition(pod, "Ready").get("status") == "True"


def _waits_as(reason: str) -> Callable[[Json | None], bool]:
    def waits(pod: Json | None) -> bool:
        pending = {} if pod is None else _condition(pod, "PodResizePending")
        current = pod is not None and pending.get("observedGeneration") == pod["metadata"]["generation"]
        return current and pending.get("reason") == reason

    return waits


def _is_resized(pod: Json | None) -> bool:
    if pod is None or pod["status"].get("observedGeneration") != pod["metadata"]["generation"]:
        return False
    return not _condition(pod, "PodResizePending") and not _condition(pod, "PodResizeInProgress")


def _is_in(*phases: str) -> Callable[[Json | None], bool]:
    return lambda pod: pod is not None and pod["status"]["phase"] in phases


_SEEN: Final[dict[str, Callable[[Json | None], bool]]] = {
    "Ready": _is_ready,
    "Failed": _is_in("Failed"),
    "Succeeded": _is_in("Succeeded"),
    "terminal": _is_in("Failed", "Succeeded"),
    "deleted": lambda pod: pod is None,
    "mirror pod gone": lambda pod: pod is None,
    "PodResizePending Deferred": _waits_as("Deferred"),
    "PodResizePending Infeasible": _waits_as("Infeasible"),
    "resize complete (no resize conditions, observedGeneration current)": _is_resized,
}


def shape(status: Json) -> Any:
    """Phase and what containers do, without anything that differs from run to run."""
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return status["phase"], [
        (each["name"], each["restartCount"], each["ready"], _state(each["state"]), _state(each["lastState"]))
        for name in lists
        for each in status.get(name, ())
    ]


def _is_like(told: Entry, recorded: Entry) -> bool:
    same = (told.type, told.generation) == (recorded.type, recorded.generation)
    return same and _told_of(told.status) == _told_of(recorded.status)


def _told_of(status: Json) -> Any:
    kinds = [(each["type"], each["status"]) for each in status.get("conditions", ())]
    return shape(status), status.get("observedGeneration"), kinds


def _state(state: Json) -> Any:
    return [(kind, found.get("reason"), found.get("exitCode")) for kind, found in state.items()]
