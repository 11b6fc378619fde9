"""What the size of a pod promises: its status, its cgroups. Said again from the rules, not from flexlet's code."""

from typing import Any, Final

from tests.scenarios.agent_resize.e2e.bench import Seen
from tests.scenarios.agent_resize.stage import written

Json = dict[str, Any]

_UNITS: Final = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def promised(seen: Seen) -> tuple[Json, Json]:
    """The resources and the cgroup files that a pod of this size has."""
    sizes = {name: written(text) for name, text in seen.sizes.items()}
    level = sizes.pop("level", None)
    files = {name: _container(each, level or {}) for name, each in sizes.items()}
    return sizes, files | {".": _pod(list(sizes.values()), level)}


def kept(seen: Seen) -> tuple[Json, Json]:
    """The same as it was seen."""
    sizes, files = promised(seen)
    shown = {each["name"]: each["resources"] for each in _statuses(seen) if each["name"] in sizes}
    return shown, {name: {file: seen.cgroups[name][file] for file in wanted} for name, wanted in files.items()}


def restarts(seen: Seen) -> dict[str, int]:
    """Who was restarted, and how often."""
    return {each["name"]: each["restartCount"] for each in _statuses(seen) if each["restartCount"]}


def requested(seen: Seen) -> dict[str, Json]:
    """What each container requests."""
    sizes, _ = promised(seen)
    return {name: each.get("requests", {}) for name, each in sizes.items()}


def allocated(seen: Seen) -> dict[str, Json]:
    """What each container that has a size of its own was allocated."""
    sizes, _ = promised(seen)
    found = {each["name"]: each.get("allocatedResources", {}) for each in _statuses(seen)}
    return {name: found[name] for name in sizes}


def _statuses(seen: Seen) -> list[Json]:
    return [*seen.status.get("initContainerStatuses", ()), *seen.status["containerStatuses"]]


def _container(own: Json, level: Json) -> Json:
    """A limit that a container does not have it gets from the pod; a weight only from its own request."""
    limits = level.get("limits", {}) | own.get("limits", {})
    files = {"cpu.max": _quota(limits.get("cpu")), "memory.max": _bytes(limits.get("memory"))}
    request = own.get("requests", {}).get("cpu")
    return files | ({"cpu.weight": _weight(_milli(request))} if request else {})


def _pod(containers: list[Json], level: Json | None) -> Json:
    """The pod's own size, else the sum of its containers' where all of them have one."""
    own = level or {}
    parts = [each.get("requests", {}).get("cpu", "0") for each in containers]
    request = own.get("requests", {}).get("cpu")
    milli = _milli(request) if request else sum(map(_milli, parts))
    files = {"cpu.weight": _weight(milli)}
    for name, file, text in (("cpu", "cpu.max", _quota), ("memory", "memory.max", _bytes)):
        limit = own.get("limits", {}).get(name)
        limits = [each.get("limits", {}).get(name) for each in containers]
        if limit is None and all(limits):
            limit = f"{sum(map(_milli, limits))}m" if name == "cpu" else str(sum(map(_size, limits)))
        files[file] = text(limit)
    return files


def _quota(limit: str | None) -> str:
    return "max 100000" if limit is None else f"{max(1000, _milli(limit) * 100)} 100000"


def _bytes(limit: str | None) -> str:
    return "max" if limit is None else str(_size(limit))


def _weight(milli: int) -> str:
    shares = max(2, milli * 1024 // 1000)
    return str(1 + (shares - 2) * 9999 // 262142)


def _milli(amount: str) -> int:
    return int(amount[:-1]) if amount.endswith("m") else int(amount) * 1000


def _size(amount: str) -> int:
    unit = _UNITS.get(amount[-2:])
    return int(amount[:-2]) * unit if unit else int(amount)
