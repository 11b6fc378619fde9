"""Entries for the journal: short, and None for what explains nothing.

They are made on the way of everything the agent does, so nothing is copied that has not changed.
"""

from typing import Any, Final

from flexlet.api.nodepod import NodePod
from flexlet.core.actions import RecordEvent
from flexlet.core.agent import deeds
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.agent.hooks import STARTED
from flexlet.core.agent.observations import (
    Answer,
    Done,
    Failed,
    Finished,
    HookChanged,
    PodGone,
    PodObservation,
    PodSeen,
    PullBegan,
    Shown,
)
from flexlet.core.agent.record import PodRecord
from flexlet.core.cgroups.values import files
from flexlet.core.journal.entry import Note
from flexlet.core.resize.allocation import Allocation, of_spec
from flexlet.core.resize.steps import Step, UpdateContainer, WritePodCgroup
from flexlet.core.runtime.shown import EXITED, RUNNING, Container

_ID: Final = 12
"""So many characters of an id are enough to find it."""
_FIELDS: Final[dict[type[deeds.Deed], tuple[str, ...]]] = {
    deeds.CreatePodCgroup: ("path", "files"),
    deeds.RemovePodCgroup: ("path",),
    deeds.RemoveVolumes: ("everything",),
    deeds.RunSandbox: ("attempt",),
    deeds.PullImage: ("container", "volume", "image", "policy"),
    deeds.StartContainer: ("container", "attempt"),
    deeds.StopContainer: ("container", "grace_s", "reason"),
    deeds.RunPreStop: ("container", "grace_s"),
    deeds.RemoveContainer: ("container",),
    deeds.RunProbe: ("container", "kind"),
    deeds.SetCpus: ("container", "cpus", "mems"),
}
_LISTS: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def learned(observation: PodObservation, before: PodRecord | None) -> Note | None:
    """What was observed of a pod that was known as `before`."""
    match observation:
        case PodSeen():
            return _seen(observation, before)
        case PodGone():
            return {"type": "PodGone"}
        case PullBegan(container=name, volume=volume, image=image):
            whose = {"container": name} if name else {"volume": volume}
            return {"type": "PullBegan", **whose, "image": image}
        case HookChanged():
            return _hook(observation)
        case Shown():
            return _shown(observation, before)
        case Finished():
            return _finished(observation, before)
        case _:
            return None


def decided(deed: PodDeed) -> Note | None:
    """What is done now; looks and probes are not worth a line before they bring something."""
    if isinstance(deed, deeds.Inspect | deeds.RunProbe):
        return None
    note: Note = {"type": type(deed).__name__} | _about(deed)
    match deed:
        case deeds.SaveAllocation(allocation=allocation):
            note["resources"] = _sizes(allocation)
        case deeds.TakeStep(step=step):
            note |= {"subject": step.subject} | _step(step)
        case deeds.ReportStatus(status=status):
            note |= _told(status)
    return note


def told(event: RecordEvent) -> Note:
    """What people were told."""
    name = event.about.get("name", "")
    return {"type": event.type, "reason": event.reason, "message": event.message, "name": name}


def _seen(news: PodSeen, before: PodRecord | None) -> Note | None:
    pod, meta = news.pod, news.pod.metadata
    if before is not None and _wish(before.pod) == _wish(pod):
        return None
    note: Note = {"type": "PodSeen", "namespace": meta.namespace, "name": meta.name, "source": news.source}
    if meta.generation:
        note["generation"] = meta.generation
    if meta.deletion_timestamp is not None:
        note |= {"deleted": meta.deletion_timestamp, "grace_s": meta.deletion_grace_period_seconds}
    if news.unsupported:
        note["unsupported"] = news.unsupported
    return note | {"new": before is None, "resources": _sizes(of_spec(pod))}


def _wish(pod: NodePod) -> tuple[Any, ...]:
    """What of a pod its node acts on; a new status is its own echo."""
    meta = pod.metadata
    return meta.generation, meta.deletion_timestamp, meta.deletion_grace_period_seconds


def _sizes(allocation: Allocation) -> Note:
    """Resources by container; those of the pod as a whole have no name."""
    sizes: Note = {} if allocation.pod is None else {"": allocation.pod}
    return sizes | {name: each for name, each in allocation.containers.items() if each.requests or each.limits}


def _shown(look: Shown, before: PodRecord | None) -> Note | None:
    known = before.shown if before is not None else None
    note: Note = {}
    if known is None or known.sandboxes != look.pod.sandboxes:
        note["sandboxes"] = [{"id": each.id[:_ID], "state": each.state} for each in look.pod.sandboxes]
    runs = {each.id: each for each in known.containers} if known is not None else {}
    changed = [_run(each) for each in look.pod.containers if runs.get(each.id) != each]
    if changed:
        note["containers"] = changed
    if look.cgroup is not None and (before is None or before.cgroup != look.cgroup):
        note["cgroup"] = look.cgroup
    if look.alive and (before is None or before.doubts.keys() != look.alive):
        note["alive"] = sorted(each[:_ID] for each in look.alive)
    return {"type": "Shown"} | note if note else None


def _run(run: Container) -> Note:
    note: Note = {"name": run.name, "id": run.id[:_ID], "attempt": run.attempt, "state": run.state}
    if run.state == EXITED:
        note |= {"exit_code": run.exit_code, "reason": run.reason}
    elif run.state == RUNNING and run.resources is not None:
        note["resources"] = run.resources
    return note


def _hook(news: HookChanged) -> Note:
    note: Note = {"type": "Hook", "container": news.container, "hook": news.hook, "state": news.state}
    if news.state == STARTED:
        return note
    note["seconds"] = round(news.seconds, 3)
    return note | {"message": news.message} if news.message else note


def _finished(end: Finished, before: PodRecord | None) -> Note | None:
    deed, outcome = end.deed, end.outcome
    failed = isinstance(outcome, Failed)
    if isinstance(deed, deeds.Inspect) and not failed:
        return None
    if isinstance(deed, deeds.RunProbe) and isinstance(outcome, Answer) and _is_usual(deed, outcome, before):
        return None
    note: Note = {
        "type": "Finished",
        "deed": type(deed).__name__,
        "seconds": round(end.ended_at - end.began_at, 3),
    }
    if isinstance(deed, deeds.TakeStep):
        note["subject"] = deed.step.subject
    return note | _about(deed, whole=False) | _outcome(outcome)


def _outcome(outcome: Done | Failed | Answer) -> Note:
    match outcome:
        case Failed(reason=reason, message=message):
            return {"failed": message, "reason": reason} if reason else {"failed": message}
        case Answer(result=result, output=output):
            return {"result": result, "output": output}
        case Done(pulled=True, size=size):
            return {"pulled": True, "size": size}
        case Done(hook_failure=failure) if failure:
            return {"hook_failure": failure}
        case _:
            return {}


def _is_usual(deed: deeds.RunProbe, answer: Answer, before: PodRecord | None) -> bool:
    known = before.probes.get(f"{deed.kind}/{deed.container}") if before is not None else None
    result = "success" if answer.result == "warning" else answer.result
    return known is not None and known.last_answer == result


def _step(step: Step) -> Note:
    match step:
        case WritePodCgroup(values=values):
            return {"files": files(values)}
        case UpdateContainer(actuated=actuated):
            return {"resources": {step.container: actuated}}
        case _:
            return {}


def _about(deed: PodDeed, *, whole: bool = True) -> Note:
    fields = _FIELDS.get(type(deed), ())
    found = {name: getattr(deed, name) for name in fields if whole or name != "files"}
    return {name: value for name, value in found.items() if name != "volume" or value}


def _told(status: Note) -> Note:
    """A status in short: phase, conditions, how containers are, and what they have."""
    note: Note = {"phase": status.get("phase", "")}
    if "reason" in status:
        note["reason"] = status["reason"]
    conditions = status.get("conditions", ())
    note["conditions"] = {each["type"]: (each["status"], each.get("reason", "")) for each in conditions}
    entries = [each for name in _LISTS for each in status.get(name, ())]
    note["containers"] = {each["name"]: _state(each.get("state", {})) for each in entries}
    note["resources"] = {each["name"]: each["resources"] for each in entries if each.get("resources")}
    return note


def _state(state: Note) -> tuple[str, str]:
    """``waiting`` and why, ``running``, ``terminated`` and how."""
    for kind, detail in state.items():
        return kind, str(detail.get("reason", ""))
    return "", ""
