"""Resizes in place as a table: a pod, and the sizes it is given one after the other.

`Story` and `Step` say what is asked and what must follow; `walk` asks for it on a real node and looks after every
step at the kernel's files, the status, restarts and events. One pod walks through many sizes, because starting a
pod is what takes time here.
"""

from typing import TYPE_CHECKING, Any

import msgspec
from tests.pods import amounts
from tests.vm.amounts import memory, quota, resources, weight
from tests.vm.node import RESIZING, Hands, Object, container, eventually, pod, runs

from flexlet.ports.cluster import PODS

if TYPE_CHECKING:
    from flexlet.api.pod import ResourceList


class Step(msgspec.Struct, frozen=True):
    """What changes (containers by name, then the pod's own), and who is restarted for it."""

    what: str
    sizes: dict[str, str] = {}
    level: str = ""
    restarts: tuple[str, ...] = ()


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A pod; a container with a ``+`` in front is a sidecar, `shown` is a status that is not just its spec."""

    name: str
    sizes: dict[str, str]
    level: str = ""
    restart_on: dict[str, tuple[str, ...]] = {}
    shown: dict[str, str] = {}
    steps: tuple[Step, ...]


def manifest(story: Story) -> Object:
    """The pod."""
    policies = {
        name: [{"resourceName": each, "restartPolicy": "RestartContainer"} for each in names]
        for name, names in story.restart_on.items()
    }
    made = [
        container(name.lstrip("+"), resources=resources(text), resizePolicy=policies.get(name, []))
        for name, text in story.sizes.items()
    ]
    sidecars = [each | {"restartPolicy": "Always"} for each in made if "+" + each["name"] in story.sizes]
    regular = [each for each in made if each["name"] in story.sizes]
    level = {"resources": resources(story.level)} if story.level else {}
    return pod(story.name, *regular, initContainers=sidecars, **level)


async def walk(hands: Hands, story: Story) -> None:
    """From size to size."""
    await hands.create(PODS, manifest(story))
    found = await hands.ready(story.name)
    assert await hands.resize_events(found) == {}
    await _look(hands, found, story.sizes, story.level, story.shown)
    sizes, level = story.sizes, story.level
    for number, step in enumerate(story.steps, 1):
        sizes, level = sizes | step.sizes, step.level or level
        try:
            found = await _take(hands, story, step, sizes, level, found)
            await _look(hands, found, sizes, level, story.shown)
            await _events(hands, found, {"ResizeStarted": number, "ResizeCompleted": number})
        except Exception as error:
            error.add_note(f"in the story {story.name}: {step.what}")
            raise
    await hands.delete(story.name)


async def _take(
    hands: Hands, story: Story, step: Step, sizes: dict[str, str], level: str, before: Object
) -> Object:
    """Ask, wait for the end, and see that only those restarted that had to."""
    wished = {name: {"name": name.lstrip("+"), "resources": resources(text)} for name, text in sizes.items()}
    spec: dict[str, Any] = {
        field: [wish for name, wish in wished.items() if name.startswith("+") == (field == "initContainers")]
        for field in ("initContainers", "containers")
    }
    spec["resources"] = resources(level)
    await hands.resize(story.name, **{field: value for field, value in spec.items() if value})
    now = await hands.until(f"{step.what} is done", story.name, is_done)
    counts = {name: each["restartCount"] for name, each in runs(now).items()}
    assert counts == {name: each["restartCount"] + (name in step.restarts) for name, each in runs(before).items()}
    same = [name for name in counts if runs(now)[name]["containerID"] == runs(before)[name]["containerID"]]
    assert same == [name for name in counts if name not in step.restarts]
    return now


async def _events(hands: Hands, found: Object, expected: dict[str, int]) -> None:
    """Events travel on their own; one too many would be there by the time all are."""

    async def complete() -> bool:
        told = await hands.resize_events(found)
        return all(told.get(reason, 0) >= count for reason, count in expected.items())

    await eventually(complete)
    assert await hands.resize_events(found) == expected


def is_done(found: Object) -> bool:
    """What a client takes for the end of a resize: nothing pending, the newest generation seen, and ready."""
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    seen = found["status"].get("observedGeneration", 0) >= found["metadata"]["generation"]
    return seen and not RESIZING & set(conditions) and conditions["Ready"] == "True"


async def _look(
    hands: Hands, found: Object, containers: dict[str, str], level: str, shown: dict[str, str]
) -> None:
    """Kernel and status say what the spec says."""
    plain = {name.lstrip("+"): text for name, text in containers.items()}
    pod_has = _Amounts(level)
    for name, text in plain.items():
        own = _Amounts(text)
        files = await hands.cgroup(found, name)
        expected = own.files(pod_has)
        # Without a request the weight is that of the first limit, or the least one: nothing to promise here.
        assert _without_weight(files, own) == _without_weight(expected, own), name
        status = runs(found)[name]
        assert status.get("resources", {}) == resources(shown.get(name, text)), name
        assert status.get("allocatedResources", {}) == resources(text).get("requests", {}), name
    assert await hands.cgroup(found) == _pod_files([_Amounts(text) for text in plain.values()], pod_has)
    if level:
        assert found["status"]["resources"] == resources(level)
        assert found["status"]["allocatedResources"] == resources(level)["requests"]


def _without_weight(files: list[str], own: "_Amounts") -> list[str]:
    return files if own.requests.get("cpu") else [files[0], files[2]]


class _Amounts:
    def __init__(self, text: str) -> None:
        requests, _, limits = text.partition("/")
        self.requests: ResourceList = amounts(requests.strip())
        self.limits: ResourceList = amounts(limits.strip())

    def cpu_request(self) -> int:
        return self.requests["cpu"].milli if "cpu" in self.requests else self.cpu_limit()

    def cpu_limit(self) -> int:
        return self.limits["cpu"].milli if "cpu" in self.limits else 0

    def memory_limit(self) -> int:
        return self.limits["memory"].value if "memory" in self.limits else 0

    def files(self, pod_has: "_Amounts") -> list[str]:
        """cpu.max, cpu.weight, memory.max of a container: its own limits, else those of its pod."""
        cpu, most = self.cpu_limit() or pod_has.cpu_limit(), self.memory_limit() or pod_has.memory_limit()
        return [quota(cpu), weight(self.cpu_request()), memory(most)]


def _pod_files(containers: list[_Amounts], pod_has: _Amounts) -> list[str]:
    """Of a pod: what it says itself, else the sums; a limit only if every container has one."""
    request = pod_has.cpu_request() or sum(each.cpu_request() for each in containers)
    cpu = pod_has.cpu_limit() or _sum([each.cpu_limit() for each in containers])
    most = pod_has.memory_limit() or _sum([each.memory_limit() for each in containers])
    return [quota(cpu), weight(request), memory(most)]


def _sum(limits: list[int]) -> int:
    return sum(limits) if all(limits) else 0
