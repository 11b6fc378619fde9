"""Variables in a file, in the part of a shell's language that the kubelet reads (KEP-3721).

A line is empty, a comment or ``NAME='value'``; what is between the quotes is taken as it is, and may go over
several lines. What comes after the wanted variable is not looked at. The first mistake before it spoils the file.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.core.agent.containers.contents import Problem

LONGEST_LINE: Final = 64 * 1024
"""In bytes, with its end: a reader of lines in Go takes none that is longer."""
LARGEST_FILE: Final = 1 << 20
"""In bytes. Whoever fills the volume must not fill the agent's memory with it."""
_BLANKS: Final = b" \t"
_INVALID: Final = "invalid environment variable format "


class _Line(msgspec.Struct, frozen=True):
    number: int
    text: bytes


def value(data: bytes, key: str) -> str | Problem:
    """The value of a variable, empty if there is none; the problem is where the file cannot be understood."""
    lines = _lines(data)
    for line in lines:
        if isinstance(line, Problem):
            return line
        text = line.text.lstrip(_BLANKS)
        if not text or text.startswith(b"#"):
            continue
        name, complaint = _name(text)
        if complaint:
            return _problem(f"at line {line.number}", complaint)
        found = _value(msgspec.structs.replace(line, text=text.partition(b"=")[2]), lines)
        if isinstance(found, Problem):
            return found
        if name == key.encode():
            return found.decode(errors="surrogateescape")
    return ""


def _lines(data: bytes) -> Iterator[_Line | Problem]:
    """Without their ends; the last one needs none."""
    parts = data.split(b"\n")
    if not parts[-1]:
        parts.pop()
    for number, part in enumerate(parts, 1):
        if len(part) >= LONGEST_LINE:
            yield Problem(f"line {number} is longer than {LONGEST_LINE} bytes")
            return
        yield _Line(number, part.removesuffix(b"\r"))


def _name(text: bytes) -> tuple[bytes, str]:
    """The variable's name, and what is wrong with it."""
    name, equals, _ = text.partition(b"=")
    if not equals:
        return name, "missing '='"
    bare = name.rstrip(_BLANKS)
    if not bare:
        return name, "empty variable name"
    return name, "" if bare == name else "whitespace before '=' is not allowed"


def _value(line: _Line, rest: Iterator[_Line | Problem]) -> bytes | Problem:
    """What is between the quotes, taking further lines as needed."""
    if line.text.startswith((b" ", b"\t")):
        return b""  # as in a shell: an empty value, and a command after it
    if not line.text.startswith(b"'"):
        return _problem(f"at line {line.number}", "value must be enclosed in single quotes")
    inside, start = line.text[1:], line.number
    kept: list[bytes] = []
    while b"'" not in inside:
        kept.append(inside)
        following = next(rest, None)
        if following is None:
            return _problem(f"starting at line {start}", "unclosed single quote")
        if isinstance(following, Problem):
            return following
        inside, line = following.text, following
    last, _, after = inside.partition(b"'")
    if after.lstrip(_BLANKS) and not after.lstrip(_BLANKS).startswith(b"#"):
        return _problem(f"at line {line.number}", "unexpected content after closing quote")
    return b"\n".join([*kept, last])


def _problem(place: str, complaint: str) -> Problem:
    return Problem(f"{_INVALID}{place}: {complaint}")
