"""The entries of one pod, in the order they happened: from what was seen to what was told.

A pod is known by its uid; names come and go. Without a uid the newest pod of that name is meant. Entries that name
a pod are those of its source and the events about it.
"""

from collections.abc import Iterable, Sequence

from flexlet.core.journal.entry import LEARNED, TOLD, Entry


def uids(entries: Iterable[Entry], namespace: str, name: str) -> tuple[str, ...]:
    """The pods that had this name, the oldest first; names in events count where the source is not recorded."""
    named: dict[str, None] = {}
    hinted: dict[str, None] = {}
    for entry in entries:
        note = entry.what if isinstance(entry.what, dict) else {}
        if entry.kind == LEARNED and note.get("type") == "PodSeen":
            if (note.get("namespace"), note.get("name")) == (namespace, name):
                named[entry.subject] = None
        elif entry.kind == TOLD and note.get("name") == name and entry.subject:
            hinted[entry.subject] = None
    return tuple(named or hinted)


def of_pod(entries: Sequence[Entry], uid: str) -> list[Entry]:
    """Everything about one pod."""
    return [entry for entry in entries if entry.subject == uid]
