"""The second look at a value that did not convert: mend nulls, name the culprit.

Two things `msgspec` leaves open. It refuses a null where a Struct has no None, while Kubernetes reads null as
"not set"; so a refused null is taken out (in a list or a mapping: made empty) and the conversion tried again. And
it writes ``[...]`` for the entry of a mapping; so the entries are tried one by one until the failing key is known.
Both are slow, and happen only on the way to an error message or with input written by hand.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from flexlet.errors import InputError

T = TypeVar("T")
Path = tuple[str | int, ...]

ENTRY: Final = "[...]"
"""How `msgspec` writes a key of a mapping that it does not name."""

_MAX_NULLS: Final = 100  # each costs a conversion; nobody writes more by hand
_ERROR: Final = re.compile(r"(?P<message>.*?)(?: - at (?P<key>`key` in )?`(?P<path>\$[^`]*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_NULL: Final = re.compile(r"Expected `([a-z]+)(?: \| [^`]*)?`, got `null`")
_EMPTY: Final[dict[str, Any]] = {"str": "", "int": 0, "float": 0.0, "bool": False, "object": {}, "array": []}


def retry(value: Any, error: str, convert: Callable[[Any], T]) -> T:
    """Convert `value`, which failed with `error`, without its nulls; or raise InputError with the full path."""
    for _ in range(_MAX_NULLS):
        message, steps = _parsed(error)
        path = _located(value, steps, message, convert)
        null = _NULL.fullmatch(message)
        if null is None or not path:
            break
        is_field = isinstance(steps[-1], str) and steps[-1] != ENTRY
        value = _without(value, path) if is_field else _replaced(value, path, _EMPTY[null[1]])
        try:
            return convert(value)
        except msgspec.ValidationError as again:
            error = str(again)
    raise InputError(message, path_text(path))


def path_text(path: Path) -> str:
    """``$.spec.containers[0].image``; keys that are no plain words are quoted in brackets."""
    steps = [f"[{step}]" if isinstance(step, int) else _key_text(step) for step in path]
    return "$" + "".join(steps)


def _key_text(key: str) -> str:
    return f".{key}" if re.fullmatch(r"[\w-]+", key) else f'["{key}"]'


def _parsed(error: str) -> tuple[str, Path]:
    match = _ERROR.fullmatch(error)
    if match is None or match["path"] is None:
        return error, ()
    message = f"{match['message']} as a key" if match["key"] else match["message"]
    steps = _STEP.findall(match["path"])
    return message, tuple(name or entry or int(index) for name, index, entry in steps)


def _located(value: Any, path: Path, message: str, convert: Callable[[Any], T]) -> Path:
    """`path` with every ``[...]`` replaced by the key that fails in the same words when left alone."""
    while ENTRY in path:
        depth = path.index(ENTRY)
        before, after = path[:depth], path[depth + 1 :]
        for key, entry in _at(value, before).items():
            alone = _replaced(value, before, {key: entry})
            if _fails_with(message, alone, convert):
                value, path = alone, (*before, key, *after)
                break
        else:
            return (*before, "*", *after)
    return path


def _fails_with(message: str, value: Any, convert: Callable[[Any], T]) -> bool:
    try:
        convert(value)
    except msgspec.ValidationError as error:
        return _parsed(str(error))[0] == message
    return False


def _without(value: Any, path: Path) -> Any:
    rest = {key: item for key, item in _at(value, path[:-1]).items() if key != path[-1]}
    return _replaced(value, path[:-1], rest)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy of `value` with `new` at `path`; only what lies on the path is copied."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy
