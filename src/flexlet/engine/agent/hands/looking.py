"""Look at a pod: what the runtime has of it, how its cgroup reads, what ended containers said last."""

from collections.abc import Collection
from typing import Final

from flexlet.core.agent import doubts
from flexlet.core.agent.containers import lastwords
from flexlet.core.agent.deeds import Inspect
from flexlet.core.agent.observations import Done, Outcome, Shown
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.paths import name_of, pod_path
from flexlet.core.resize import podcgroup
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.resources.qos import recorded_qos_class
from flexlet.core.runtime.shown import EXITED, Container, RuntimePod
from flexlet.engine.agent.hands.tools import Tools

_FILES: Final = ("cpu.weight", "cpu.max", "memory.max")
_IN_USE: Final = "memory.current"


async def inspect(tools: Tools, deed: Inspect, record: PodRecord, world: World) -> Outcome:
    """Look, and tell what was seen."""
    await show(tools, record, world, usage=deed.usage)
    return Done()


async def show(tools: Tools, record: PodRecord, world: World, *, usage: bool = False) -> None:
    """Tell the mailbox what the pod looks like now."""
    order = tools.order()
    pod = await tools.runtime.inspect(record.uid)
    path = cgroup_path(record, world)
    texts = await tools.cgroups.read(path, _FILES)
    tools.tell(
        Shown(
            pod=pod,
            has_cgroup=bool(texts) or await tools.cgroups.exists(path),
            cgroup=_reading(texts),
            usage=await _usage(tools, path, pod) if usage else None,
            messages=await _last_words(tools, record, pod),
            alive=await alive(tools, path, doubts.questionable(record, pod)),
            order=order,
        )
    )


def cgroup_path(record: PodRecord, world: World) -> str:
    """Where the pod's cgroup lies."""
    return pod_path(recorded_qos_class(record.pod), record.pod_uid, world.setup.driver)


async def values(tools: Tools, path: str) -> PodCgroup | None:
    """How a pod's cgroup reads now; None if it is not there."""
    return _reading(await tools.cgroups.read(path, _FILES))


def _reading(texts: dict[str, str]) -> PodCgroup | None:
    return podcgroup.of_files(texts) if all(name in texts for name in _FILES) else None


async def alive(tools: Tools, path: str, asked: Collection[str]) -> frozenset[str]:
    """Which of these sandboxes and runs have processes in their cgroups below the pod's."""
    if not asked:
        return frozenset()
    names = await tools.cgroups.children(path)
    found = {name: each for each in asked if (name := name_of(each, names))}
    return frozenset([each for name, each in found.items() if await tools.cgroups.processes(f"{path}/{name}")])


async def container_path(tools: Tools, record: PodRecord, world: World, identity: str) -> str:
    """Where the runtime has put a container, empty if nowhere below the pod."""
    path = cgroup_path(record, world)
    name = name_of(identity, await tools.cgroups.children(path))
    return f"{path}/{name}" if name else ""


async def _usage(tools: Tools, path: str, pod: RuntimePod) -> MemoryUsage:
    """Memory in use by the pod and by each of its running containers."""
    total = await tools.cgroups.read(path, (_IN_USE,))
    names = await tools.cgroups.children(path)
    containers = {}
    for each in pod.running:
        child = name_of(each.id, names)
        if child and (text := (await tools.cgroups.read(f"{path}/{child}", (_IN_USE,))).get(_IN_USE)):
            containers[each.name] = int(text)
    return MemoryUsage(int(total[_IN_USE]) if _IN_USE in total else None, containers)


async def _last_words(tools: Tools, record: PodRecord, pod: RuntimePod) -> dict[str, str]:
    """Termination messages of ended runs; what is known already is not read again."""
    ended = [each for each in pod.containers if each.state == EXITED]
    known = {each.id: record.messages[each.id] for each in ended if each.id in record.messages}
    unread = [each for each in ended if each.id not in known]
    return known | {each.id: await _read(tools, each) for each in unread}


async def _read(tools: Tools, run: Container) -> str:
    wanted = lastwords.wanted(run)
    text = await tools.files.read_end(wanted.path, wanted.limit_bytes) if wanted.path else ""
    if text or not wanted.log_path:
        return text
    return await tools.files.tail(wanted.log_path, wanted.log_lines, wanted.log_bytes)
