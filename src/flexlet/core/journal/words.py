"""An entry of the journal as a sentence. Unknown kinds, from another release, are shown as they are."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from flexlet.core.journal.entry import DECIDED, LEARNED, TOLD, Entry, Note

_FINISHED: Final = {
    "SaveAllocation": "the allocation is on disk",
    "ForgetPod": "the pod is out of the books",
    "CreatePodCgroup": "the pod's cgroup is there",
    "RemovePodCgroup": "the pod's cgroup is gone",
    "MountVolumes": "the volumes are there",
    "RemoveVolumes": "the volumes are gone",
    "RunSandbox": "the sandbox runs",
    "StopSandbox": "the sandbox is stopped",
    "RemoveSandbox": "a sandbox is gone",
    "PullImage": "the image of {container} is here",
    "StartContainer": "{container} is started",
    "StopContainer": "{container} is stopped",
    "RunPreStop": "the preStop hook of {container} is done",
    "RemoveContainer": "an ended run of {container} is gone",
    "TakeStep": "{subject} is changed",
    "SetCpus": "{container} is on CPUs {cpus}",
    "ReportStatus": "the API knows the status",
    "FinishDelete": "the API has let the pod go",
    "RunProbe": "{kind} probe of {container}",
}
_DECIDED: Final = {
    "SaveAllocation": "allocate {sizes}",
    "ForgetPod": "forget the pod's allocation",
    "CreatePodCgroup": "make the pod's cgroup: {files}",
    "RemovePodCgroup": "remove the pod's cgroup",
    "MountVolumes": "lay out the volumes",
    "RemoveVolumes": "take the volumes away",
    "RunSandbox": "make a sandbox (attempt {attempt})",
    "StopSandbox": "stop the sandbox",
    "RemoveSandbox": "remove a sandbox",
    "PullImage": "see to the image {image} of {container} (policy {policy})",
    "StartContainer": "start {container} (attempt {attempt})",
    "StopContainer": "stop {container} within {grace_s} s: {reason}",
    "RunPreStop": "run the preStop hook of {container}",
    "RemoveContainer": "remove an ended run of {container}",
    "TakeStep": "resize {subject}: {change}",
    "SetCpus": "move {container} to CPUs {cpus}",
    "FinishDelete": "tell the API to let the pod go",
}


_HOOKS: Final = {"abandoned": "was abandoned: it did not complete in the grace period"}
"""How a hook ended, where one word does not say it."""


def sentence(entry: Entry) -> str:
    """What the entry says, in plain words."""
    read = _READERS.get(entry.kind)
    note: Note = entry.what if isinstance(entry.what, dict) else {}
    text = read(note) if read is not None else ""
    return text or msgspec.json.encode(entry.what).decode()


def _learned(note: Note) -> str:
    match note.get("type"):
        case "PodSeen":
            return _seen(note)
        case "PodGone":
            return "nobody asks for the pod any more"
        case "PullBegan":
            return f"pulling {note['image']} for {_owner(note)}"
        case "Hook":
            return _hook(note)
        case "Shown":
            return _shown(note)
        case "Finished":
            return _finished(note)
        case _:
            return ""


def _seen(note: Note) -> str:
    where = "a file" if note["source"] == "file" else "the API"
    text = f"{where} shows {note['namespace']}/{note['name']}"
    if "generation" in note:
        text += f", generation {note['generation']}"
    if "deleted" in note:
        return f"{text}, deleted with {note['grace_s']} s of grace"
    if "unsupported" in note:
        text += f", which needs {', '.join(note['unsupported'])}"
    return f"{text}: {_sizes(note['resources'])}"


def _hook(note: Note) -> str:
    text = f"the {note['hook']} hook of {note['container']} {_HOOKS.get(note['state'], note['state'])}"
    if "message" in note:
        text += f": {note['message']}"
    return f"{text} [{note['seconds']:.3f} s]" if "seconds" in note else text


def _shown(note: Note) -> str:
    parts = [f"sandbox {each['id']} is {each['state']}" for each in note.get("sandboxes", ())]
    if "sandboxes" in note and not parts:
        parts.append("there is no sandbox")
    parts += [_run(each) for each in note.get("containers", ())]
    if "cgroup" in note:
        found = note["cgroup"]
        quota, memory = _or_max(found["quota"]), _or_max(found["memory_max"])
        parts.append(f"the pod's cgroup has cpu.weight {found['weight']}, cpu.max {quota}, memory.max {memory}")
    if "alive" in note:
        parts.append(f"{', '.join(note['alive'])} runs all the same")
    return "; ".join(parts)


def _run(run: Note) -> str:
    text = f"{run['name']} ({run['id']}, attempt {run['attempt']}) is {run['state']}"
    if "exit_code" in run:
        text += f" with {run['exit_code']}" + (f" ({run['reason']})" if run["reason"] else "")
    if "resources" in run:
        given = run["resources"]
        text += f" with quota {given.get('cpu_quota', 0)}, memory {given.get('memory_limit', 0)}"
    return text


def _finished(note: Note) -> str:
    deed: str = note["deed"]
    text = _FINISHED.get(deed, deed).format_map(_Blank(note, container=_owner(note)))
    if "failed" in note:
        reason = f" ({note['reason']})" if "reason" in note else ""
        text = f"{deed}{_whose(note)} failed{reason}: {note['failed']}"
    elif "result" in note:
        text += f": {note['result']}" + (f", {note['output'].strip()}" if note["output"] else "")
    elif deed == "PullImage":
        text += f", {note['size']} bytes were pulled" if note.get("pulled") else " already"
    elif "hook_failure" in note:
        text += f", its hook failed: {note['hook_failure']}"
    return f"{text} [{note['seconds']:.3f} s]"


def _whose(note: Note) -> str:
    name = note.get("subject") or _owner(note)
    return f" of {name}" if name else ""


def _owner(note: Note) -> str:
    """Who an image is for."""
    return f"volume {note['volume']}" if "volume" in note else str(note.get("container", ""))


def _decided(note: Note) -> str:
    kind = note.get("type", "")
    if kind == "ReportStatus":
        return _report(note)
    words = _DECIDED.get(kind, "")
    sizes = _sizes(note.get("resources", {}))
    files = ", ".join(f"{name} {text}" for name, text in note.get("files", {}).items())
    return words.format_map(_Blank(note, container=_owner(note), sizes=sizes, files=files, change=files or sizes))


def _report(note: Note) -> str:
    conditions = [_condition(kind, *held) for kind, held in note["conditions"].items()]
    containers = [f"{name} {_joined(state)}" for name, state in note["containers"].items()]
    phase = note["phase"] + (f" ({note['reason']})" if "reason" in note else "")
    text = "; ".join(filter(None, (phase, ", ".join(containers), ", ".join(conditions))))
    return f"report the status: {text}" + (f"; {_sizes(note['resources'])}" if note["resources"] else "")


def _condition(kind: str, status: str, reason: str) -> str:
    return f"{kind} {status}" + (f" ({reason})" if reason else "")


def _told(note: Note) -> str:
    return f"{note['type']} event {note['reason']}: {note['message']}" if "message" in note else ""


def _sizes(resources: Mapping[str, Any]) -> str:
    """``app cpu 500m/1, memory 64Mi`` are requests and, after the stroke, limits."""
    parts = [f"{name or 'the pod'} {_amounts(each)}" for name, each in resources.items()]
    return "; ".join(parts) if parts else "no resources"


def _amounts(given: Mapping[str, Mapping[str, str]]) -> str:
    requests, limits = given.get("requests") or {}, given.get("limits") or {}
    names = [*requests, *(name for name in limits if name not in requests)]
    return ", ".join(f"{name} {_pair(requests.get(name), limits.get(name))}" for name in names)


def _pair(request: str | None, limit: str | None) -> str:
    return f"{request or '-'}/{limit}" if limit is not None else f"{request}"


def _joined(words: Iterable[str]) -> str:
    return " ".join(filter(None, words))


def _or_max(value: int) -> str:
    return "max" if value < 0 else str(value)


class _Blank(dict[str, Any]):
    """Says nothing where a note lacks a field."""

    def __init__(self, note: Note, **more: str) -> None:
        super().__init__(note | more)

    def __missing__(self, key: str) -> str:
        return "?"


_READERS: Final[dict[str, Callable[[Note], str]]] = {LEARNED: _learned, DECIDED: _decided, TOLD: _told}
