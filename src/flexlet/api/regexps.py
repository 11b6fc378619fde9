r"""Regular expressions that users write, as Go reads and matches them.

Schemas and rules carry patterns in Go's syntax, which is RE2's. They are matched by RE2 itself: in time
proportional to the text, whatever the pattern says. What RE2 refuses (looking around, references back) is refused
in the words of Go's ``regexp``. Three things that RE2 takes and Go does not are refused here: ``\C``, nesting
beyond 1,000, and repetitions of repetitions that make a program too large.

RE2 bounds a match by the size of the program times the length of the text, and that product may still be large:
`Pattern.search` refuses a pair that would take more than about half a second.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from flexlet.errors import InputError

MAX_NESTING: Final = 1000
MAX_MEMORY: Final = 4 * 1024 * 1024
"""Of one compiled pattern; the cache holds at most 256 of them."""
MAX_STEPS: Final = 50_000_000
"""Program size times bytes of text: RE2 does some 130 million of them a second where it is slowest."""

_WORDS: Final = {
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "invalid named capture group": "invalid named capture",
}
# What a backslash, a class or a group begins: enough to find \C and to count the depth of groups.
_PIECE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|[^\]\\])*+(?:\]|$)|[()]", re.DOTALL)
_ANY_BYTE: Final = re.compile(r"\\Q.*?(?:\\E|$)|\\(.)", re.DOTALL)


class WrongPattern(InputError):
    """The text is no regular expression to Go."""


class PatternTooCostly(InputError):
    """The pattern and the text are right, but matching one with the other would take too long."""


class Pattern(msgspec.Struct, frozen=True):
    """A compiled pattern."""

    text: str
    program: Any
    size: int

    def search(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text."""
        return self.program.search(self._affordable(text)) is not None

    def find(self, text: str) -> Iterator[str]:
        """The parts of a text that match, without overlap, from the left."""
        for match in self.program.finditer(self._affordable(text)):
            yield match.group().decode(errors="replace")

    def _affordable(self, text: str) -> bytes:
        data = text.encode(errors="replace")
        if self.size * len(data) > MAX_STEPS:
            raise PatternTooCostly(
                f"a text of {len(data)} bytes is too long to be matched with the pattern '{shown(self.text)}' "
                f"of program size {self.size}"
            )
        return data


def shown(pattern: str, limit: int = 100) -> str:
    """A pattern in a message, cut if it is long."""
    return pattern if len(pattern) <= limit else f"{pattern[:limit]}..."


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """The pattern, to be searched with; WrongPattern if it is wrong."""
    import re2  # loaded with the first pattern, so that commands without one start sooner

    if (byte := _any_byte(pattern)) is not None:
        raise byte
    if _nesting(pattern) > MAX_NESTING:
        raise _wrong("expression nests too deeply", pattern)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    try:
        program = re2.compile(pattern.encode(errors="replace"), options)
    except re2.error as fault:
        raise _in_go_words(fault.args[0].decode(errors="replace"), pattern) from None
    for name in program.groupindex:
        if not name.isascii():
            raise _wrong("invalid named capture", f"(?P<{name.decode()}>")
    return Pattern(pattern, program, program.programsize)


def _any_byte(pattern: str) -> WrongPattern | None:
    r"""The refusal of ``\C``, half a character: RE2 knows it, Go does not."""
    found = any(match[1] == "C" for match in _ANY_BYTE.finditer(pattern)) if r"\C" in pattern else False
    return _wrong("invalid escape sequence", r"\C") if found else None


def _nesting(pattern: str) -> int:
    """The greatest depth of groups."""
    depth = deepest = 0
    if pattern.count("(") > MAX_NESTING:
        for piece in _PIECE.finditer(pattern):
            depth += (piece[0] == "(") - (piece[0] == ")")
            deepest = max(deepest, depth)
    return deepest


def _in_go_words(fault: str, pattern: str) -> WrongPattern:
    what, _, where = fault.partition(": ")
    if what == "pattern too large - compile failed":
        return _wrong("expression too large", pattern)
    if where.startswith("(?<"):  # Go takes a look behind for a group with a wrong name
        rest = pattern[pattern.index(where) :]
        return _wrong("invalid named capture", rest[: rest.find(">") + 1] or rest)
    return _wrong(_WORDS.get(what, what), where)


def _wrong(what: str, where: str) -> WrongPattern:
    return WrongPattern(f"error parsing regexp: {what}: `{where}`")
