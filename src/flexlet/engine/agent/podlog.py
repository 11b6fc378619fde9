"""The agent's log for operators: what changed, and what went wrong.

`watch` is told of the world before and after each round of the loop and logs the lines of `core.agent.loglines` at
info. `LoggedJournal` stands before the journal and logs as a warning every error that goes into it; one that comes
again and again is logged once, until what failed has succeeded or fails in another way.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from flexlet.core.agent import loglines
from flexlet.core.agent.hooks import ABANDONED, FAILED
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.journal import words
from flexlet.core.journal.entry import LEARNED, Entry, Note
from flexlet.ports.journal import Journal

log: Final = logging.getLogger("flexlet.agent")

_MANY: Final = 1000
"""So many errors are remembered at most."""

Find = Callable[[str], PodRecord | None]


def watch(before: World, after: World) -> None:
    """Log what a round changed."""
    if log.isEnabledFor(logging.INFO):
        for text in loglines.lines(before, after):
            log.info("%s", text)


class LoggedJournal:
    """A journal whose errors are logged, too."""

    def __init__(self, journal: Journal, find: Find) -> None:
        self._journal = journal
        self._find = find
        self._failing: dict[tuple[str, str, str], str] = {}

    def note(self, at: float, kind: str, subject: str, what: Any) -> None:
        """Add an entry."""
        self._journal.note(at, kind, subject, what)
        if kind == LEARNED and isinstance(what, dict) and what["type"] in {"Finished", "Hook"}:
            self._consider(Entry(at, kind, subject, what), what)

    def flush(self) -> None:
        """See to it that entries are in the file."""
        self._journal.flush()

    def _consider(self, entry: Entry, note: Note) -> None:
        about = str(note.get("deed") or note.get("hook")), str(note.get("container") or note.get("subject") or "")
        key = entry.subject, *about
        error = _error(note)
        if not error:
            self._failing.pop(key, None)
        elif self._failing.get(key) != error:
            if len(self._failing) >= _MANY:
                self._failing.clear()
            self._failing[key] = error
            record = self._find(entry.subject)
            whose = {"uid": entry.subject} if record is None else loglines.of_pod(record)
            log.warning("%s", loglines.line("error", **whose, error=words.sentence(entry)))


def _error(note: Note) -> str:
    """Empty for what went well; hooks are told when they end."""
    if note.get("state") in {FAILED, ABANDONED}:
        return str(note.get("message") or note["state"])
    return str(note.get("failed") or "")
