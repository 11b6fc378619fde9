"""Entries about the node itself: which steps were decided when its machine changed, and how each went.

They stand in the same journal as those about pods, under the subject `NODE`, which is no pod's uid.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.core.hotplug import words
from flexlet.core.hotplug.plan import ResizePlan
from flexlet.core.hotplug.steps import ResizeStep
from flexlet.core.journal.entry import DECIDED, Entry, Note

NODE: Final = "node"
_PLAN: Final = "ResizeNode"
_STEP: Final = "NodeStep"
_SHOWN: Final = ("files", "limit", "container", "generation", "closed", "priority")


def decided(plan: ResizePlan) -> Note:
    """The node shall follow its machine; note it as ``decided`` about `NODE`."""
    return {
        "type": _PLAN,
        "generation": plan.generation.number,
        "changes": words.changes(plan.generation.changes),
        "steps": list(dict.fromkeys(_name(step) for step in plan.steps)),
        "victims": [f"{each.namespace}/{each.name}: {each.reason}" for each in plan.victims],
    }


def finished(step: ResizeStep, seconds: float, failure: str = "") -> Note:
    """A step was taken, or failed; note it as ``learned`` about `NODE`."""
    note: Note = {"type": _STEP, "step": _name(step), "seconds": round(seconds, 4)}
    for name in _SHOWN:
        value = getattr(step, name, None)
        if value and not isinstance(value, msgspec.Struct):
            note[name] = value
    return note | ({"failed": failure} if failure else {})


def of_node(entries: Iterable[Entry]) -> list[Entry]:
    """Everything about the node, in the order it happened."""
    return [entry for entry in entries if entry.subject == NODE]


def sentence(entry: Entry) -> str:
    """What an entry about the node says; one from another release is shown as it is."""
    note: Note = entry.what if isinstance(entry.what, dict) else {}
    try:
        if entry.kind == DECIDED and note.get("type") == _PLAN:
            return _plan(note)
        if note.get("type") == _STEP:
            return _step(note)
    except KeyError:
        pass
    return msgspec.json.encode(entry.what).decode()


def _plan(note: Note) -> str:
    text = f"follow the machine to generation {note['generation']} ({note['changes']}): {', '.join(note['steps'])}"
    return text + (f"; end {', '.join(note['victims'])}" if note["victims"] else "")


def _step(note: Note) -> str:
    files = ", ".join(f"{name} {text}" for name, text in note.get("files", {}).items())
    rest = [f"{name} {note[name]}" for name in _SHOWN if name in note and name != "files"]
    detail = ", ".join(filter(None, (files, *rest)))
    end = f"failed: {note['failed']}" if "failed" in note else "is done"
    return f"{note['step']} {end}" + (f" ({detail})" if detail else "") + f" [{note['seconds']:.3f} s]"


def _name(step: ResizeStep) -> str:
    return type(step).__name__
