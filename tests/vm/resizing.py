"""A resize in place as a row of a table: a pod before and after, and what must be true in the end.

`Case` says what is asked and what follows from it by the rules; `walk` asks for it on a real node, there and back
again, and looks: at the kernel's files, at the status, at restarts, at the events.
"""

from typing import TYPE_CHECKING, Any

import msgspec
from tests.pods import amounts
from tests.vm.amounts import memory, quota, resources, weight
from tests.vm.node import RESIZING, Hands, Object, container, eventually, pod, runs

from flexlet.ports.cluster import PODS

if TYPE_CHECKING:
    from flexlet.api.pod import ResourceList


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Containers by name; a name with a ``+`` in front is a sidecar. `after` names those that change."""

    name: str
    before: dict[str, str]
    after: dict[str, str] = {}
    level: str = ""
    new_level: str = ""
    restart_on: dict[str, tuple[str, ...]] = {}
    restarts: tuple[str, ...] = ()
    back: bool = True
    shown: dict[str, str] = {}

    @property
    def then(self) -> dict[str, str]:
        """All containers after the resize."""
        return self.before | self.after


def manifest(case: Case) -> Object:
    """The pod."""
    policies = {
        name: [{"resourceName": each, "restartPolicy": "RestartContainer"} for each in names]
        for name, names in case.restart_on.items()
    }
    made = [
        container(name.lstrip("+"), resources=resources(text), resizePolicy=policies.get(name, []))
        for name, text in case.before.items()
    ]
    sidecars = [each | {"restartPolicy": "Always"} for each in made if "+" + each["name"] in case.before]
    regular = [each for each in made if each["name"] in case.before]
    level = {"resources": resources(case.level)} if case.level else {}
    return pod(case.name, *regular, initContainers=sidecars, **level)


async def walk(hands: Hands, case: Case) -> None:
    """There and, if it can be, back again."""
    await hands.create(PODS, manifest(case))
    first = await hands.ready(case.name)
    try:
        assert await hands.resize_events(first) == {}
        await _look(hands, first, case.before, case.level, case.shown)
        await _ask(hands, case, case.then, case.new_level or case.level)
        await _arrived(hands, case, first, rounds=1)
        if case.back:
            await _ask(hands, case, case.before, case.level)
            await _arrived(hands, case, first, rounds=2)
    except Exception as error:
        error.add_note(f"in the case {case.name}")
        raise
    finally:
        await hands.delete(case.name)


async def _ask(hands: Hands, case: Case, containers: dict[str, str], level: str) -> None:
    wished = {name: {"name": name.lstrip("+"), "resources": resources(text)} for name, text in containers.items()}
    spec: dict[str, Any] = {
        field: [wish for name, wish in wished.items() if name.startswith("+") == (field == "initContainers")]
        for field in ("initContainers", "containers")
    }
    if level:
        spec["resources"] = resources(level)
    await hands.resize(case.name, **{field: value for field, value in spec.items() if value})


async def _arrived(hands: Hands, case: Case, first: Object, rounds: int) -> None:
    containers, level = (case.then, case.new_level or case.level) if rounds == 1 else (case.before, case.level)
    now = await hands.until("the resize is done", case.name, is_done)
    await _look(hands, now, containers, level, case.shown)
    counts = {name: each["restartCount"] for name, each in runs(now).items()}
    assert counts == {name.lstrip("+"): rounds * (name in case.restarts) for name in case.before}
    same = [name for name in counts if runs(now)[name]["containerID"] == runs(first)[name]["containerID"]]
    assert same == [name for name in counts if not counts[name]]
    expected = {"ResizeStarted": rounds, "ResizeCompleted": rounds}
    await _events(hands, now, expected)


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
