"""Whether the system's udev rules bring new parts of the machine online.

Distributions ship such rules for CPUs, for memory or for both; a node that wrote as well would fight them. Only
what matters here is understood of the language: a rule belongs to a subsystem by ``SUBSYSTEM==`` in its own line
or by a ``SUBSYSTEM!=..., GOTO`` above it, and it onlines if it sets the attribute or runs something that does.
"""

import re
from collections.abc import Iterator
from typing import Final

from flexlet.core.machine.parts import Kind
from flexlet.core.machine.snapshot import Snapshot

RULES: Final = tuple(f"{place}/udev/rules.d/*.rules" for place in ("/etc", "/run", "/usr/lib", "/lib"))
"""A file hides those of the same name in the places after it."""

_RULE: Final = re.compile(r"(?P<place>.*)/udev/rules\.d/(?P<name>[^/]+\.rules)")
_ORDER: Final = ("/etc", "/run", "/usr/lib", "/lib")
_IS: Final = re.compile(r'SUBSYSTEM=="([^"]*)"')
_IS_NOT: Final = re.compile(r'SUBSYSTEM!="([^"]*)".*GOTO=')
_SETS: Final = re.compile(r'(?:ATTR\{(?:online|state)\}=|RUN[^=,]*\+?=)"(?![^"]*offline)[^"]*(?:1|online|\$env)')
_KINDS: Final[tuple[Kind, ...]] = ("cpu", "memory")


def onlines(snapshot: Snapshot) -> frozenset[Kind]:
    """The kinds of parts that some rule brings online."""
    return frozenset(kind for text in _effective(snapshot) for kind in _KINDS if _file_onlines(text, kind))


def _effective(snapshot: Snapshot) -> Iterator[str]:
    found: dict[str, tuple[int, str]] = {}
    for match, text in snapshot.matching(_RULE):
        if match["place"] in _ORDER:
            rank = (_ORDER.index(match["place"]), text)
            found[match["name"]] = min(found.get(match["name"], rank), rank)
    return (text for _, text in found.values())


def _file_onlines(text: str, kind: Kind) -> bool:
    guarded: str | None = None
    for line in _lines(text):
        guard = _IS_NOT.search(line)
        if guard is not None:
            guarded = guard[1]
        named = _IS.search(line)
        subsystem = named[1] if named is not None else guarded
        if subsystem is not None and kind in subsystem.split("|") and _SETS.search(line):
            return True
    return False


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if not line.lstrip().startswith("#"):
            yield line
