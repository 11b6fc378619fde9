"""JSONPath as printer columns and selectable fields use it: kubectl's dialect.

Fields, indices and slices, ``*``, ``..``, unions, and filters such as ``[?(@.type=="Ready")]``. A path that makes
no sense for a value (an index into a string, a comparison of a number with a text) is a fault, which prints as an
empty cell. Follows ``client-go/util/jsonpath``.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from flexlet.errors import InputError

Step: TypeAlias = Callable[[list[Any]], list[Any]]
Path: TypeAlias = Callable[[Any], list[Any]]
"""Finds the values a path leads to; InputError if it makes no sense there."""

_KEY: Final = re.compile(r"^'([^']*)'$")
_SLICE: Final = re.compile(r"^(-?\d*)(:-?\d*)?(:-?\d*)?$", re.ASCII)
_COMPARISON: Final = re.compile(r"^([^!<>=]+)([!<>=]+)(.+?)$", re.DOTALL)
_NUMBER: Final = re.compile(r"[-+]?[\d.]+", re.ASCII)
_ENDS: Final = " \t\r\n.,[]$@{}"
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def parse(text: str) -> Path:
    """Read a path; InputError if it is none."""
    steps = tuple(_Parser(text).steps())

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = step(found)
        return found

    return find


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def steps(self) -> Iterator[Step]:
        while self.at < len(self.text):
            rest = self.text[self.at :]
            here = rest[0]
            if rest.startswith("[?("):
                yield self._filter()
            elif rest.startswith(".."):
                self.at += 2
                yield _descend
                if self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] == "_"):
                    yield self._field()
            elif here in " @$":
                self.at += 1
            elif here == "[":
                yield self._brackets()
            elif here in "\"'":
                yield _constant(self._quoted(here))
            elif here == ".":
                self.at += 1
                yield self._field()
            elif (number := _NUMBER.match(rest)) is not None:
                self.at += number.end()
                yield _constant(_number(number[0]))
            elif here.isalnum() or here == "_":
                yield self._word()
            else:
                raise InputError(f"unrecognized character in action: {here}")

    def _name(self) -> str:
        """Everything up to the next unescaped end of a name, without the escapes."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _ENDS:
            self.at += 2 if self.text[self.at] == "\\" else 1
        return self.text[start : self.at].replace("\\", "")

    def _field(self) -> Step:
        name = self._name()
        return _wildcard if name == "*" else _field(name)

    def _word(self) -> Step:
        word = self._name()
        if word in {"true", "false"}:
            return _constant(word == "true")
        raise InputError(f"unrecognized identifier {word}")

    def _quoted(self, quote: str) -> str:
        end = self.at + 1
        while end < len(self.text) and (self.text[end] != quote or self.text[end - 1] == "\\"):
            end += 1
        if end >= len(self.text):
            raise InputError("unterminated quoted string")
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return re.sub(r"\\(.)", r"\1", text)

    def _brackets(self) -> Step:
        end = self.text.find("]", self.at)
        if end < 0:
            raise InputError("unterminated array")
        inner = self.text[self.at + 1 : end]
        self.at = end + 1
        if "," in inner:
            return _union([parse(f"[{part.strip(' ')}]") for part in inner.split(",")])
        key = _KEY.match(inner)
        if key is not None:
            return _dotted(parse(f".{key[1]}"))
        bounds = _SLICE.match(":" if inner == "*" else inner)
        if bounds is None:
            raise InputError(f"invalid array index {inner}")
        return _slice(*(None if bound is None else bound.removeprefix(":") for bound in bounds.groups()))

    def _filter(self) -> Step:
        start = self.at + 3
        end = self._filter_end(start)
        inner = self.text[start:end]
        self.at = end + 2
        compared = _COMPARISON.match(inner)
        if compared is None:
            return _having(parse(inner))
        if compared[2] not in _OPERATORS:
            raise InputError(f"unrecognized filter operator {compared[2]}")
        return _comparing(parse(compared[1]), _OPERATORS[compared[2]], parse(compared[3]))

    def _filter_end(self, at: int) -> int:
        """Where the filter's parenthesis closes; one text in quotes may contain others."""
        quote = ""
        closed = False
        while at < len(self.text):
            here = self.text[at]
            if here in "\"'" and not quote:
                quote = here
            elif quote and here == quote and self.text[at - 1] != "\\":
                closed = True
            elif here == ")" and bool(quote) == closed:
                if not self.text.startswith(")]", at):
                    raise InputError("unclosed array expect ]")
                return at
            at += 1
        raise InputError("unterminated filter")


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise InputError(f"cannot parse number {text}") from None


def _constant(value: Any) -> Step:
    return lambda found: [value for _ in found]


def _field(name: str) -> Step:
    return lambda found: [value[name] for value in found if isinstance(value, dict) and name in value]


def _dotted(path: Path) -> Step:
    return lambda found: [result for value in found for result in path(value)]


def _union(paths: Sequence[Path]) -> Step:
    return lambda found: [result for path in paths for value in found for result in path(value)]


def _wildcard(found: list[Any]) -> list[Any]:
    return [item for value in found for item in _members(value)]


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _descend(found: list[Any]) -> list[Any]:
    """Every container below, itself included."""
    result: list[Any] = []
    for value in found:
        if members := _members(value):
            result += [value, *_descend(members)]
    return result


def _slice(first: str | None, last: str | None, step: str | None) -> Step:
    start = int(first) if first else 0
    by = int(step) if step else 1
    if by <= 0:
        raise InputError("step must be > 0")

    def take(found: list[Any]) -> list[Any]:
        return [item for value in found if value is not None for item in _cut(value, start, last, by)]

    return take


def _cut(value: Any, start: int, last: str | None, by: int) -> list[Any]:
    if not isinstance(value, list):
        raise InputError("not an array or slice")
    size = len(value)
    # An index is a slice of one; of the last item, the end is the list's.
    end = start + 1 if last is None else int(last) if last else size
    begin = start + size if start < 0 else start
    if end < 0 or (end == 0 and last is None):
        end += size
    if begin == end:
        return []
    if not 0 <= begin < size or not begin <= end <= size:
        raise InputError("array index out of bounds")
    return value[begin:end:by]


def _having(path: Path) -> Step:
    def keep(item: Any) -> bool:
        try:
            return bool(path(item))
        except InputError:
            return False

    return lambda found: [item for value in found for item in _list(value) if keep(item)]


def _comparing(left: Path, compare: Callable[[Any, Any], bool], right: Path) -> Step:
    def keep(item: Any) -> bool:
        lefts, rights = left(item), right(item)
        if len(lefts) > 1 or len(rights) > 1:
            raise InputError("can only compare one element at a time")
        return bool(lefts) and bool(rights) and _compared(lefts[0], compare, rights[0])

    return lambda found: [item for value in found for item in _list(value) if keep(item)]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InputError("not an array or slice and cannot be filtered")
    return value


def _compared(left: Any, compare: Callable[[Any, Any], bool], right: Any) -> bool:
    if type(left) is not type(right) or type(left) not in {bool, int, float, str}:
        raise InputError("incompatible types for comparison")
    if isinstance(left, bool) and compare not in {operator.eq, operator.ne}:
        raise InputError("invalid type for comparison")
    return compare(left, right)


def sorted_json(value: Any) -> Any:
    """A value with the keys of its objects in order, as Go prints maps."""
    return msgspec.json.decode(msgspec.json.encode(value, order="sorted"))
