"""Does what flexlet did look like what the kubelet did?

`Matcher` compares a recording, in which values that differ from run to run are placeholders, with real values,
and says what differs. A placeholder means the same value wherever it stands, and no two containers have one id.
Times only have to be times, unless the moment of creation is given. A null is an absent field. What flexlet does
differently on purpose is in `differences`.

One Matcher belongs to one life: it remembers what the placeholders stood for. `compare_status`, `compare_events`
and `compare_cgroup` are for single looks.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tests.lives import differences
from tests.lives.placeholders import PLACEHOLDER, is_time, offset

from flexlet.api import age
from flexlet.core.actions import RecordEvent

Json = Mapping[str, Any]

CGROUP_FILES: Final = (
    "cpu.max",
    "cpu.weight",
    "memory.max",
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.swap.max",
    "memory.oom.group",
    "pids.max",
)
_RFC3339: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_KEYS: Final = {"conditions": "type"} | dict.fromkeys(
    ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"), "name"
)
_KUBELET: Final = "kubelet"
_NOISE: Final = ("failed to start sandbox", "interrupted system call")


class Matcher:
    """Compares with the recording of one life."""

    def __init__(self, created: float | None = None) -> None:
        """`created` is when the pod was created, if times shall be exact."""
        self._created = created
        self._bound: dict[str, str] = {}

    def status(self, recorded: Json, rendered: Json) -> list[str]:
        """How two statuses differ; only one that fits binds placeholders."""
        bound = dict(self._bound)
        found = self._compare("", recorded, rendered)
        left = [each for each in found if not differences.accepts(each, recorded, rendered)]
        if left:
            self._bound = bound
        return left

    def walk(self, recorded: Sequence[Json], told: Sequence[Json]) -> list[str]:
        """Which recorded statuses were not told in their order.

        More may have been told: a status that was replaced quickly was not recorded.
        """
        missing, position = [], 0
        for number, each in enumerate(recorded):
            nearest = ["nothing more was told"]
            for at in range(position, len(told)):
                differs = self.status(each, told[at])
                if not differs:
                    position = at + 1
                    break
                nearest = differs if at == position else min(nearest, differs, key=len)
            else:
                missing.append(f"status {number}: {'; '.join(nearest)}")
        return missing

    def events(self, recorded: Iterable[Json], told: Iterable[RecordEvent | Json]) -> list[str]:
        """Which events of the node are missing and which were not expected; counts and order do not matter."""
        left = [_event(each) for each in told if _is_the_nodes(each)]
        missing = []
        for wanted in dict.fromkeys(_event(each) for each in recorded if _is_the_nodes(each)):
            same = [other for other in left if self._is_event(wanted, other)]
            left = [other for other in left if other not in same]
            if not same:
                missing.append(f"missing event: {_words(wanted)}")
        return missing + [f"unexpected event: {_words(each)}" for each in dict.fromkeys(left)]

    def cgroup(self, recorded: Json, read: Json, files: Sequence[str] = CGROUP_FILES) -> list[str]:
        """How the files of a pod's cgroups differ: ``.`` is the pod's own, then one for each container."""
        found = [f"cgroup {name}: missing" for name in recorded if name not in read]
        found += [f"cgroup {name}: unexpected" for name in read if name not in recorded]
        for name in recorded.keys() & read.keys():
            for file in files:
                before, after = recorded[name].get(file), read[name].get(file)
                if before is None or before == after or differences.accepts_file(name, file, before, after):
                    continue
                found.append(f"cgroup {name}: {file} is {after!r}, was {before!r}")
        return sorted(found)

    def text(self, recorded: str, found: str) -> bool:
        """Whether a text is what the recorded one stands for; if so, its placeholders are bound."""
        parts = PLACEHOLDER.findall(recorded)
        if not parts:
            return recorded == found
        match = re.fullmatch(self._pattern(recorded), found, re.DOTALL)
        if match is None:
            return False
        bound = dict(zip((part for part in parts if self._is_free(part)), match.groups(), strict=True))
        taken = {value for name, value in self._bound.items() if name.startswith("<id:")}
        if any(name.startswith("<id:") and value in taken for name, value in bound.items()):
            return False
        self._bound |= {name: value for name, value in bound.items() if not is_time(name)}
        return True

    def _is_event(self, wanted: tuple[str, ...], found: tuple[str, ...]) -> bool:
        pod, *words, message = wanted
        return pod in ("", found[0]) and words == list(found[1:-1]) and self.text(message, found[-1])

    def _pattern(self, recorded: str) -> str:
        """A pattern with a group for each placeholder that is still free."""
        pieces, position = [], 0
        for part in PLACEHOLDER.finditer(recorded):
            pieces += [re.escape(recorded[position : part.start()]), self._piece(part[0])]
            position = part.end()
        return "".join([*pieces, re.escape(recorded[position:])])

    def _piece(self, placeholder: str) -> str:
        if is_time(placeholder):
            if self._created is None:
                return f"({_RFC3339})"
            return re.escape(age.format_seconds(self._created + offset(placeholder)))
        return re.escape(self._bound[placeholder]) if placeholder in self._bound else r"([^\s()]+?)"

    def _is_free(self, placeholder: str) -> bool:
        return self._created is None if is_time(placeholder) else placeholder not in self._bound

    def _compare(self, path: str, recorded: Any, found: Any) -> list[str]:
        if isinstance(recorded, Mapping) and isinstance(found, Mapping):
            keys = sorted(recorded.keys() | found.keys())
            return [
                each
                for key in keys
                for each in self._compare(f"{path}.{key}" if path else key, recorded.get(key), found.get(key))
            ]
        if isinstance(recorded, list) and isinstance(found, list):
            return self._compare_lists(path, recorded, found)
        if isinstance(recorded, str) and isinstance(found, str) and self.text(recorded, found):
            return []
        if path.endswith(".imageID") and recorded and found:
            return []
        return [] if recorded == found else [f"{path}: {found!r}, was {recorded!r}"]

    def _compare_lists(self, path: str, recorded: list[Any], found: list[Any]) -> list[str]:
        key = _KEYS.get(path.rpartition(".")[2])
        if key is None:
            if len(recorded) != len(found):
                return [f"{path}: {found!r}, was {recorded!r}"]
            pairs = zip(recorded, found, strict=True)
            return [each for n, pair in enumerate(pairs) for each in self._compare(f"{path}[{n}]", *pair)]
        before, after = [each[key] for each in recorded], [each[key] for each in found]
        if before != after:
            return [f"{path}: {after}, was {before}"]
        return [
            each
            for name, old, new in zip(before, recorded, found, strict=True)
            for each in self._compare(f"{path}[{name}]", old, new)
        ]


def compare_status(recorded: Json, rendered: Json, created: float | None = None) -> list[str]:
    """How two statuses differ."""
    return Matcher(created).status(recorded, rendered)


def compare_events(recorded: Iterable[Json], told: Iterable[RecordEvent | Json]) -> list[str]:
    """Which events are missing and which were not expected."""
    return Matcher().events(recorded, told)


def compare_cgroup(recorded: Json, read: Json, files: Sequence[str] = CGROUP_FILES) -> list[str]:
    """How the files of a pod's cgroups differ."""
    return Matcher().cgroup(recorded, read, files)


def _is_the_nodes(event: RecordEvent | Json) -> bool:
    """Whether the node told it, and meant it."""
    if isinstance(event, RecordEvent):
        return event.component == _KUBELET
    source = event.get("source", event).get("component", _KUBELET)
    return source == _KUBELET and not all(word in event["message"] for word in _NOISE)


def _event(event: RecordEvent | Json) -> tuple[str, str, str, str, str]:
    """Pod, type, reason, place in the pod, message; of a deed, of an Event object or of a recorded one.

    Recordings name the pod only where there are several.
    """
    if isinstance(event, RecordEvent):
        about, words = event.about, (event.type, event.reason, event.message)
    else:
        about = event.get("involvedObject", {"name": event.get("pod", ""), **event})
        words = (event["type"], event["reason"], event["message"])
    return about.get("name", ""), *words[:2], about.get("fieldPath", ""), words[2]


def _words(event: tuple[str, ...]) -> str:
    return " ".join(each for each in event if each)
