"""What must be true of a node on which nothing fails any more and nothing happens."""

from collections.abc import Iterator
from typing import Any, Final

from tests.engine.agent.resizing import rig
from tests.engine.agent.world import World, is_ready

from flexlet.api.cpuset import CpuSet
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.world import active
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.cgroups.containers import container_resources
from flexlet.core.cgroups.settings import Host
from flexlet.core.critical import is_critical
from flexlet.core.hotplug.view import NodeView
from flexlet.core.managers.files import CPU_FILE
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.qos import recorded_qos_class

Json = dict[str, Any]

_SIZED: Final = ("memory.swap.max", "memory.high")
"""Files of containers that depend on the size of the node."""


async def wrong(there: World, uids: dict[str, str], victims: set[str]) -> Json:
    """What is not as it should be, by name; `uids` are the pods that nobody deleted."""
    if not await rig.is_at_rest(there):
        return {"at rest": (rig.condition(await rig.node(there)), rig.generations(there))}
    size = await rig.view_now(there, await _critical_usage(there))
    found = {
        **dict(_kubepods(there, size)),
        **dict(_node(await rig.node(there), size, there)),
        **dict(_containers(there, size)),
        **dict(_cpus(there, CpuSet.of(there.node.host.awake))),
    }
    for name, uid in uids.items():
        pod = await there.get(name)
        if pod is not None and pod["status"]["phase"] == "Failed":
            if uid not in victims and pod["status"].get("containerStatuses", [{}])[0].get("containerID"):
                found[f"{name} ended"] = pod["status"]
        elif not is_ready(pod) and not _made_way(pod):
            found[f"{name} ready"] = pod and pod["status"]
    return found


def _made_way(pod: Json | None) -> bool:
    """Whether it was ended for a critical pod that came, as on any node."""
    conditions = () if pod is None else pod["status"]["conditions"]
    return any("preempted by Kubelet" in each.get("message", "") for each in conditions)


async def _critical_usage(there: World) -> int:
    """The limit around all pods is never below what critical ones use."""
    agent = there.node.agent
    assert agent is not None
    paths = [there.node.pod_path(uid) for uid, each in agent.loop.world.pods.items() if is_critical(each.pod)]
    read = [await there.node.sim.cgroups.read(path, ("memory.current",)) for path in paths if path is not None]
    return sum(int(each["memory.current"]) for each in read)


def _kubepods(there: World, size: NodeView) -> Iterator[tuple[str, Any]]:
    files = there.node.cgroup(rig.KUBEPODS)
    for name, text in size.kubepods.items():
        wanted = _in_pages(text) if name.startswith("memory.") else text.strip()
        if files.get(name) != wanted:
            yield f"kubepods {name}", (files.get(name), text)


def _node(node: Json, size: NodeView, there: World) -> Iterator[tuple[str, Any]]:
    for name in ("capacity", "allocatable"):
        shown = {each: amount for each, amount in node["status"][name].items() if each in size.capacity}
        wanted = {each: str(amount) for each, amount in getattr(size, name).items()}
        if shown != wanted:
            yield f"node {name}", (shown, wanted)
    if rig.size(node)["taints"]:
        yield "taints", node["spec"]["taints"]
    reason = rig.condition(node)["reason"]
    if reason not in _reasons(there, size):
        yield "condition", (rig.condition(node), _reasons(there, size))


def _reasons(there: World, size: NodeView) -> set[str]:
    """What the condition may say now."""
    if size.below_reserved:
        return {"BelowReserved"}
    records = [each for each in _admitted(there) if is_critical(each.pod) and not is_balloon(each.pod)]
    over = any(
        amount.milli < sum(_milli(each, name, there) for each in records)
        for name, amount in size.allocatable.items()
        if name != "pods"
    )
    return {"CriticalOverCapacity"} if over else {"Stable"}


def _milli(record: PodRecord, name: str, there: World) -> int:
    assert there.node.agent is not None
    amount = pod_requests(as_allocated(record, there.node.agent.loop.world.setup)).get(name)
    return 0 if amount is None else amount.milli


def _admitted(there: World) -> list[PodRecord]:
    assert there.node.agent is not None
    everybody = active(there.node.agent.loop.world).values()
    return [each for each in everybody if each.admission == ADMITTED and each.ending is None]


def _containers(there: World, size: NodeView) -> Iterator[tuple[str, Any]]:
    """Scores, swap and the soft limit of every running container are those of this size."""
    assert there.node.agent is not None
    setup = there.node.agent.loop.world.setup
    for record in _admitted(there):
        pod = as_allocated(record, setup)
        scores, cgroups = there.node.oom_scores(record.uid), there.node.pod_cgroups(record.uid)
        for container in pod.spec.containers:
            wanted = container_resources(pod, container, size.host, setup.cgroups)
            has, shall = scores.get(container.name), wanted.oom_score_adj
            if has != shall and not _was_resized(record, size.host, there):
                yield f"{pod.metadata.name} score", (has, shall)
            for name, text in wanted.unified.items():
                has_text = cgroups.get(container.name, {}).get(name)
                if name in _SIZED and has_text != _in_pages(text):
                    yield f"{pod.metadata.name} {name}", (has_text, text)


def _in_pages(text: str) -> str:
    """As the kernel keeps it."""
    return text if text == "max" else str(int(text) // 4096 * 4096)


def _was_resized(record: PodRecord, host: Host, there: World) -> bool:
    """A score is given when a container starts and with a new size of the node, never with one of the pod."""
    del host, there
    return record.pod.metadata.generation > 1


def _cpus(there: World, online: CpuSet) -> Iterator[tuple[str, Any]]:
    """Every CPU has one owner, and whoever has a claim to CPUs of its own has them."""
    book = rig.books(there).get(CPU_FILE)
    if book is None or book["policyName"] != "static":
        return
    own = {uid: CpuSet.parse(text) for uid, sets in book.get("entries", {}).items() for text in sets.values()}
    shared = CpuSet.parse(book["defaultCpuSet"])
    ids = sorted(cpu for cpus in (shared, *own.values()) for cpu in cpus)
    if ids != list(online):
        yield "cpus", (book, str(online))
    for record in _admitted(there):
        wanted = own.get(record.uid, shared)
        has = there.node.pod_cgroups(record.uid).get("a", {}).get("cpuset.cpus")
        if has != str(wanted):
            yield f"{record.pod.metadata.name} cpus", (has, str(wanted))
        count = _claim(record, _milli(record, "cpu", there))
        if len(own.get(record.uid, ())) != count and not is_critical(record.pod):
            yield f"{record.pod.metadata.name} own cpus", (own.get(record.uid), count)


def _claim(record: PodRecord, milli: int) -> int:
    """How many CPUs of its own a pod has a claim to."""
    guaranteed = recorded_qos_class(record.pod) == "Guaranteed" and not is_balloon(record.pod)
    return 0 if milli % 1000 or not guaranteed else milli // 1000
