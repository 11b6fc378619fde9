"""What the agent would have known when the kubelet wrote a status: a record made back from a recording.

The runtime's side is taken from the states of the containers (which run it was, when it started, how it ended),
the API's side from the status before. Everything else in a status (phase, conditions, texts, times, counts, what
is shown where) is for rendering to find again.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final

import msgspec
from tests.lives.differences import read_back
from tests.lives.placeholders import concrete, filled
from tests.lives.recording import Entry, Json, Life, load

from flexlet.api import age, decode
from flexlet.api.meta import Condition
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.pod import ResourceRequirements
from flexlet.core.agent.containers import names
from flexlet.core.agent.observations import API, FILE
from flexlet.core.agent.record import ADMITTED, REJECTED, Ending, PodRecord, ProbeState, Trouble
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.cgroups import pods
from flexlet.core.resize.allocation import Allocation, applied, of_spec
from flexlet.core.resize.conditions import RESIZE_IN_PROGRESS, ResizeConditions
from flexlet.core.resize.podcgroup import PodCgroup, written
from flexlet.core.resources.defaults import default_pod
from flexlet.core.resources.effective import pod_limits, pod_requests
from flexlet.core.resources.rounding import text_list
from flexlet.core.resources.statusaware import RESIZE_PENDING
from flexlet.core.runtime.shown import EXITED, NOT_READY, READY, RUNNING, Container, RuntimePod, Sandbox

CREATED: Final = 1_750_000_000.0
SETUP: Final = NodeSetup(name="node-a", ips=("192.0.2.1",))
_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_NOT_TROUBLED: Final = ("ContainerCreating", "PodInitializing", None)
_RESIZES: Final = (RESIZE_PENDING, RESIZE_IN_PROGRESS)
_NOBODY_ELSES: Final = frozenset(
    {
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
        "PodResizePending",
        "PodResizeInProgress",
        "DisruptionTarget",
    }
)


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A status that the kubelet wrote, and what was there when it did."""

    number: int
    recorded: Json
    record: PodRecord
    setup: NodeSetup
    now: float


@cache
def moments(name: str, pod: str) -> tuple[Moment, ...]:
    """Every status of a pod that the kubelet wrote in a life, in order."""
    life = load(name)
    entries = life.entries(pod)
    return tuple(
        _Reader(life, pod, entries[: number + 1]).moment(number)
        for number, entry in enumerate(entries)
        if number and entry.type == "MODIFIED" and _is_the_nodes(entries[number - 1].status, entry.status)
    )


def _is_the_nodes(before: Json, after: Json) -> bool:
    return "startTime" in after and _own(before) != _own(after)


def _own(status: Json) -> Json:
    kept = [each for each in status.get("conditions", ()) if each["type"] in _NOBODY_ELSES]
    return status | {"conditions": kept}


class _Reader:
    """Reads the record out of what was seen so far."""

    def __init__(self, life: Life, name: str, entries: tuple[Entry, ...]) -> None:
        self.life = life
        self.name = name
        self.seen = entries
        self.entry = entries[-1]
        fill = concrete(CREATED)
        self.fill = fill
        self.status: Json = filled(self.entry.status, fill)
        self.copy: Json = filled(entries[-2].status, fill)
        told = [each.status for each in entries[:-1] if "startTime" in each.status]
        self.told: Json | None = filled(told[-1], fill) if told else None
        self.is_new = entries[-2].type == "ADDED" and entries[-2].spec_resources is not None
        self.wishes = [each.spec_resources for each in entries if each.spec_resources is not None]
        self.is_static = life.name == "static-pod"

    def moment(self, number: int) -> Moment:
        record = self.record()
        return Moment(number=number, recorded=self.entry.status, record=record, setup=SETUP, now=self.now())

    def now(self) -> float:
        """When it was written, by what it says of the conditions that changed."""
        before = self.copy if self.told is None else self.told
        known = {each["type"]: each["status"] for each in before.get("conditions", ())}
        changed = [
            each["lastTransitionTime"]
            for each in self.status.get("conditions", ())
            if known.get(each["type"]) != each["status"] and each["type"] not in _RESIZES
        ]
        return age.parse(changed[-1] if changed else self.status["startTime"]).timestamp()

    def record(self) -> PodRecord:
        pod = self.pod(self.wishes[-1] if self.wishes else {})
        allocation = self.allocation(pod)
        actuated = self.actuated(allocation)
        ended = self.status["phase"] in ("Succeeded", "Failed")
        rejected = ended and "conditions" not in self.status
        return PodRecord(
            pod=pod,
            source=FILE if self.is_static else API,
            admission=REJECTED if rejected else ADMITTED,
            allocation=allocation,
            actuated=actuated,
            cgroup=_cgroup(pod, actuated),
            resize=self.resize(),
            shown=self.shown(),
            ips=(self.status.get("podIP") or "10.0.0.9",) if self.has_sandbox or "podIP" in self.status else (),
            troubles=self.troubles(),
            probes=self.probes(pod),
            ending=self.ending(),
            stopping_since=CREATED - 1 if self.entry.deletion_grace is not None else None,
            stopped=ended,
            mirror=self.mirror(pod) if self.is_static else None,
            reported=None if self.is_new else self.told,
        )

    def pod(self, wish: Json) -> NodePod:
        manifest = self.life.manifests[self.name]
        uid = "<uid>" if self.name == next(iter(self.life.manifests)) else f"<uid:{self.name}>"
        meta: Json = {
            "uid": self.fill(uid),
            "name": self.name,
            "namespace": f"life-{self.life.name}",
            "generation": 0 if self.is_static else self.entry.generation,
        }
        if self.entry.deletion_grace is not None:
            meta["deletionTimestamp"] = age.format_seconds(CREATED)
        spec = {**manifest["spec"], "ephemeralContainers": self.ephemeral()}
        for kind in ("containers", "initContainers"):
            spec[kind] = [
                {**each, "resources": wish.get(each["name"], each.get("resources", {}))}
                for each in spec.get(kind, ())
            ]
        if "pod" in wish:
            spec["resources"] = wish["pod"]
        status = {} if self.is_static else self.copy
        pod = decode.from_value({"metadata": meta, "spec": spec, "status": status}, NodePod)
        defaulted = default_pod(pod)
        assert isinstance(defaulted, NodePod)
        return defaulted

    def mirror(self, pod: NodePod) -> NodePod:
        """A static pod's face in the API; that of an older manifest stays until it is replaced."""
        status = decode.from_value({"status": self.told or {}}, NodePod).status
        return msgspec.structs.replace(pod, status=status)

    def ephemeral(self) -> list[Json]:
        """They were added later: known only from their statuses."""
        found = self.entry.status.get("ephemeralContainerStatuses", ())
        return [{"name": each["name"], "image": "busybox:1"} for each in found]

    @property
    def has_sandbox(self) -> bool:
        return any(
            each["type"] == "PodReadyToStartContainers" and each["status"] == "True"
            for each in self.status.get("conditions", ())
        )

    def allocation(self, pod: NodePod) -> Allocation:
        """The newest wish whose requests are the allocated ones."""
        for wish in reversed(self.wishes):
            wanted = of_spec(self.pod(wish))
            if self._is_allocated(wanted):
                return wanted
        return of_spec(pod)

    def _is_allocated(self, wanted: Allocation) -> bool:
        for each in _entries(self.status):
            resources = wanted.containers.get(each["name"]) if "resources" in each else None
            if resources is not None and text_list(resources.requests) != each.get("allocatedResources", {}):
                return False
        if wanted.pod is None or "resources" not in self.life.manifests[self.name]["spec"]:
            return True
        allocated = self.status.get("allocatedResources", {})
        return all(allocated.get(key) == value for key, value in text_list(wanted.pod.requests).items())

    def actuated(self, allocation: Allocation) -> Allocation:
        """What containers were last said to have while they ran, and the pod."""
        found: dict[str, ResourceRequirements] = {}
        for seen in self.seen:
            for each in _entries(seen.status):
                if "running" in each["state"] and "resources" in each:
                    found[each["name"]] = _requirements(each["resources"])
        return Allocation(allocation.containers | found, self.level(allocation))

    def level(self, allocation: Allocation) -> ResourceRequirements | None:
        """The newest wish for the pod as a whole that its limits are the ones of."""
        said = self.status.get("resources", {}).get("limits", {})
        for wish in reversed(self.wishes):
            pod = self.pod(wish)
            if text_list(pod_limits(pod)) == said and self._is_read_back(pod):
                return of_spec(pod).pod
        return allocation.pod

    def _is_read_back(self, pod: NodePod) -> bool:
        said = self.status.get("resources", {}).get("requests", {}).get("cpu")
        asked = text_list(pod_requests(pod)).get("cpu", "0")
        return said in (asked, read_back(asked))

    def condition(self, kind: str) -> Condition | None:
        for each in self.status.get("conditions", ()):
            if each["type"] == kind:
                return decode.from_value(each, Condition)
        return None

    def resize(self) -> ResizeConditions:
        return ResizeConditions(self.condition(RESIZE_PENDING), self.condition(RESIZE_IN_PROGRESS))

    def shown(self) -> RuntimePod:
        found = [run for each in _entries(self.status) for run in _runs(each)]
        sandbox = Sandbox(id="sandbox", state=READY if self.has_sandbox else NOT_READY, ips=("10.0.0.9",))
        exists = self.has_sandbox or bool(found)
        return RuntimePod("uid", (self._networked(sandbox),) if exists else (), tuple(found))

    def _networked(self, sandbox: Sandbox) -> Sandbox:
        host = self.life.manifests[self.name]["spec"].get("hostNetwork", False)
        return msgspec.structs.replace(sandbox, network="NODE" if host else "POD")

    def troubles(self) -> dict[str, Trouble]:
        found: dict[str, Trouble] = {}
        for each in _entries(self.status):
            waiting = each["state"].get("waiting", {})
            if waiting.get("reason") not in _NOT_TROUBLED:
                found[each["name"]] = Trouble(reason=waiting["reason"], message=waiting.get("message", ""))
        return found

    def probes(self, pod: NodePod) -> dict[str, ProbeState]:
        """What the probes have said, by what is shown of it."""
        found: dict[str, ProbeState] = {}
        states = {each["name"]: each for each in _entries(self.status)}
        for each in (*pod.spec.init_containers, *pod.spec.containers):
            state = states.get(each.name, {})
            run = state.get("containerID", "").rpartition("//")[2]
            passed = {
                "startup": each.startup_probe is not None and state.get("started", False),
                "readiness": each.readiness_probe is not None and state.get("ready", False),
            }
            for kind, good in passed.items():
                found[f"{kind}/{each.name}"] = ProbeState(container_id=run, result="success" if good else "")
        return found

    def ending(self) -> Ending | None:
        disruption = self.condition("DisruptionTarget")
        if disruption is not None:
            return Ending(failed=False, disruption=disruption.message)
        last = self.life.entries(self.name)[-1].status
        ready = self.condition("Ready")
        is_over = ready is None or ready.reason == "PodFailed"
        if "reason" not in last or not is_over:
            return None
        return Ending(reason=last["reason"], message=last["message"])


def _runs(entry: Json) -> Iterator[Container]:
    """The runs of one container, newest first."""
    count = entry["restartCount"]
    for state in (entry["state"], entry["lastState"]):
        run = _run(entry, state, count)
        if run is not None:
            yield run
            count -= 1


def _run(entry: Json, state: Json, count: int) -> Container | None:
    kind = next(iter(state), "waiting")
    if kind == "waiting":
        return None
    seen = state[kind]
    full_id = seen.get("containerID", entry["containerID"])
    return Container(
        id=full_id.rpartition("//")[2],
        name=entry["name"],
        sandbox_id="sandbox",
        state=RUNNING if kind == "running" else EXITED,
        image=entry["image"],
        image_ref=entry["imageID"],
        created_at=_nanoseconds(seen["startedAt"]),
        started_at=_nanoseconds(seen["startedAt"]),
        finished_at=_nanoseconds(seen.get("finishedAt", "")),
        exit_code=seen.get("exitCode", 0),
        reason=seen.get("reason", ""),
        message=seen.get("message", ""),
        annotations={names.RESTART_COUNT: str(count)},
    )


def _entries(status: Json) -> Iterator[Json]:
    """The statuses of all containers."""
    for kind in _LISTS:
        yield from status.get(kind, ())


def _requirements(resources: Json) -> ResourceRequirements:
    return decode.from_value({"resources": resources}, NodeContainer).resources


def _nanoseconds(time: str) -> int:
    return int(age.parse(time).timestamp()) * 10**9 if time else 0


def _cgroup(pod: NodePod, actuated: Allocation) -> PodCgroup:
    nothing = PodCgroup(weight=1, quota=-1, memory_max=-1)
    return written(nothing, pods.pod_cgroup(applied(pod, actuated)))
