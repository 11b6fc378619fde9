r"""Regular expressions as Go writes them (RE2), made into Python's.

Schemas and rules carry patterns in Go's syntax. Most of both languages is the same; what differs is rewritten:
``$`` and ``\z``, POSIX and Unicode classes, ``\Q...\E``, flags in the middle, ``{,n}``. What RE2 refuses
(looking around, references back) is refused. A pattern that is right but cannot be said in Python (an ungreedy
flag, a script's name) has no matcher: `compiled` gives None, and nobody is turned away by it.
"""

import functools
import re
import sys
import unicodedata
from typing import Final

from flexlet.errors import InputError

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SPACE: Final = r"\t\n\f\r "
_REPEAT: Final = re.compile(r"\{(\d+)(,\d*)?\}")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
_NAMED: Final = re.compile(r"\(\?P?<\w+>", re.ASCII)
_RANGE: Final = re.compile(r"(\w)-(\w)", re.ASCII)
_HEX: Final = re.compile(r"\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))")
_CATEGORY: Final = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))", re.ASCII)
_MAX_REPEAT: Final = 1000


class WrongPattern(InputError):
    """The text is no regular expression to Go."""


class _Inexpressible(Exception):
    """Right in Go, but there is no way to say it in Python."""


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern, to be searched with; None if it is right but cannot be said, WrongPattern if it is wrong."""
    try:
        return re.compile(_Translator(pattern).translate(), re.ASCII)
    except _Inexpressible:
        return None
    except (re.error, RecursionError, OverflowError) as fault:
        raise WrongPattern(f"error parsing regexp: {fault}") from None


class _Translator:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.out: list[str] = []
        self.flags: list[str] = []
        """Flags set in the middle of the present group: each is a group of its own in Python."""

    def translate(self) -> str:
        self._group(top=True)
        return "".join(self.out)

    def _group(self, *, top: bool, multiline: bool = False) -> None:
        outer, self.flags = self.flags, []
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == ")":
                if top:
                    raise _wrong("unexpected )", self.text)
                break
            multiline = self._piece(here, multiline)
        self.out.append(")" * len(self.flags))
        self.flags = outer
        if not top:
            if self.at >= len(self.text):
                raise _wrong("missing closing )", self.text)
            self.out.append(")")
            self.at += 1

    def _piece(self, here: str, multiline: bool) -> bool:
        if here == "\\":
            self.out.append(self._escape(inside=False))
        elif here == "[":
            self._class()
        elif here == "(":
            return self._open(multiline)
        elif here == "|":
            self._take(")" * len(self.flags) + "|" + "".join(self.flags))
        elif here == "$":
            self._take("$" if multiline else r"\Z")
        elif here in "*+?{":
            self._repeat(here)
        else:
            self._take(here)
        return multiline

    def _take(self, text: str) -> None:
        self.out.append(text)
        self.at += 1

    def _open(self, multiline: bool) -> bool:
        """A group, or flags that hold until the end of the present one."""
        flags = _FLAGS.match(self.text, self.at)
        if flags is not None:
            return self._flags(flags, multiline)
        named = _NAMED.match(self.text, self.at)
        if named is None and self.text.startswith("(?", self.at):
            raise _wrong("invalid or unsupported Perl syntax", self.text[self.at : self.at + 3])
        self.out.append("(")
        self.at += 1 if named is None else len(named[0])
        self._group(top=False, multiline=multiline)
        return multiline

    def _flags(self, found: re.Match[str], multiline: bool) -> bool:
        on, off = found[1], (found[2] or "")[1:]
        if "U" in on + off:
            raise _Inexpressible
        self.at = found.end()
        inner = (multiline or "m" in on) and "m" not in off
        opening = f"(?{on}{'-' + off if off else ''}:"
        self.out.append(opening)
        if found[3] == ":":
            self._group(top=False, multiline=inner)
            return multiline
        self.flags.append(opening)
        return inner

    def _repeat(self, here: str) -> None:
        start = self.at
        if here != "{" and (not self.out or self.out[-1].endswith(("(", ":", "|"))):
            raise _wrong("missing argument to repetition operator", here)
        if here == "{":
            counted = _REPEAT.match(self.text, self.at)
            if counted is None:
                self._take(r"\{")
                return
            bounds = [int(number) for number in re.findall(r"\d+", counted[0])]
            if max(bounds) > _MAX_REPEAT or bounds != sorted(bounds):
                raise _wrong("invalid repeat count", counted[0])
            self.out.append(counted[0])
            self.at = counted.end()
        else:
            self._take(here)
        if self.text.startswith("?", self.at):
            self._take("?")
        if self.text.startswith(("*", "+", "?"), self.at):
            raise _wrong("invalid nested repetition operator", self.text[start : self.at + 1])

    def _class(self) -> None:
        start = self.at
        self.at += 1
        if self.text.startswith("^", self.at):
            self.at += 1
        parts = ["[^" if self.at - start == 2 else "["]
        first = True
        while not (self.text.startswith("]", self.at) and not first):
            if self.at >= len(self.text):
                raise _wrong("missing closing ]", self.text[start:])
            parts.append(self._member())
            first = False
        self.at += 1
        self.out.append("".join(parts) + "]")

    def _member(self) -> str:
        if self.text.startswith("[:", self.at) and (end := self.text.find(":]", self.at)) > 0:
            name = self.text[self.at + 2 : end]
            self.at = end + 2
            if name.startswith("^"):
                raise _Inexpressible
            if name not in _POSIX:
                raise _wrong("invalid character class range", f"[:{name}:]")
            return _POSIX[name]
        span = _RANGE.match(self.text, self.at)
        if span is not None and span[1] > span[2]:
            raise _wrong("invalid character class range", span[0])
        here = self.text[self.at]
        if here == "\\":
            return self._escape(inside=True)
        self.at += 1
        return f"\\{here}" if here in "[]&~|^" else here

    def _escape(self, *, inside: bool) -> str:
        rest = self.text[self.at : self.at + 2]
        if len(rest) < 2:
            raise _wrong("trailing backslash at end of expression", "")
        if rest == r"\Q" and not inside:
            return self._quoted()
        number = _HEX.match(self.text, self.at)
        if number is not None:
            self.at = number.end()
            return re.escape(chr(int(number[1] or number[2], 16)))
        category = _CATEGORY.match(self.text, self.at)
        if category is not None:
            self.at = category.end()
            return _unicode_class(category, inside=inside)
        self.at += 2
        return self._simple(rest, inside=inside)

    def _simple(self, rest: str, *, inside: bool) -> str:
        letter = rest[1]
        if letter == "s":
            return _SPACE if inside else f"[{_SPACE}]"
        if letter == "S" and not inside:
            return f"[^{_SPACE}]"
        if letter == "z" and not inside:
            return r"\Z"
        if letter.isascii() and letter.isalnum() and letter not in ("dDwWSafnrtv" if inside else "dDwWAbBafnrtv"):
            raise _wrong("invalid escape sequence", rest)
        return rest if letter.isascii() else letter

    def _quoted(self) -> str:
        text, _, after = self.text[self.at + 2 :].partition(r"\E")
        self.at = len(self.text) - len(after)
        return re.escape(text)


def _wrong(what: str, where: str) -> WrongPattern:
    return WrongPattern(f"error parsing regexp: {what}: `{where}`")


def _unicode_class(found: re.Match[str], *, inside: bool) -> str:
    negated = (found[1] == "P") != bool(found[2])
    ranges = _category(found[3] or found[4])
    if not inside:
        return f"[{'^' if negated else ''}{ranges}]"
    if negated:
        raise _Inexpressible
    return ranges


@functools.cache
def _category(name: str) -> str:
    """The characters of a general category (``L``, ``Nd``) as ranges of a class."""
    if name == "Any":
        return r"\x00-\U0010ffff"
    spans: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if spans and spans[-1][1] == code - 1:
                spans[-1][1] = code
            else:
                spans.append([code, code])
    if not spans:
        raise _Inexpressible
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in spans)
