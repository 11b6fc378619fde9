"""JSON patches (RFC 6902), as the library upstream uses reads the RFC.

Not done with a Python library, because clients can see the differences: ``replace`` of a missing member adds it,
an index may count from the end (``-1``), ``test`` of a missing member against null succeeds, what stands before
the first slash of a pointer is ignored, and no operation but ``replace`` and ``test`` reaches the whole document.
Follows ``evanphx/json-patch`` v4.

Only what lies on the way to a change is copied.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from flexlet.api import gojson, gotext
from flexlet.api.patch import documents
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import PatchFailed, PatchTooLarge
from flexlet.api.schema.types import ListOf, Type

MAX_OPERATIONS: Final = 10_000

Operation = dict[str, Any]
Container = dict[str, Any] | list[Any]

_OPERATION: Final = Type(
    "handlers.jsonPatchOp",
    {
        "go": "handlers.jsonPatchOp",
        "fields": {
            "op": {"t": "string"},
            "path": {"t": "string"},
            "from": {"t": "string"},
            "value": {"t": "interface"},
        },
    },
)
_PATCH: Final = ListOf(_OPERATION, "[]handlers.jsonPatchOp")
_PREFIX: Final = "error decoding patch: "


def read(body: bytes, *, checked: bool = True) -> Document:
    """Read a JSON patch; PatchMalformed if it is none, PatchTooLarge beyond 10,000 operations."""
    prefix = _PREFIX if checked else ""
    operations = documents.decoded(body, prefix)
    complaints: tuple[str, ...] = ()
    if not _is_plain(operations) or (checked and gojson.has_repeated_keys(body, operations)):
        complaints = documents.examined(_PATCH, body, prefix).complaints
    if len(operations or ()) > MAX_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}"
        raise PatchTooLarge(f"{limit}, got {len(operations)}")
    return Document(operations or [], tuple(f"json patch {text}" for text in complaints) if checked else ())


def _is_plain(operations: Any) -> bool:
    """Whether there is nothing to find for a closer look."""
    return isinstance(operations, list) and all(
        isinstance(operation, dict) and all(map(_is_member, operation, operation.values()))
        for operation in operations
    )


def _is_member(key: str, value: Any) -> bool:
    return key == "value" or (key in {"op", "path", "from"} and isinstance(value, str))


def apply(original: dict[str, Any], operations: list[Operation]) -> Any:
    """The original after all operations; PatchFailed at the first that does not apply."""
    document: Container = original
    for operation in operations:
        document = _applied(document, operation or {})
    return document


def text(original: dict[str, Any], operations: list[Operation]) -> str:
    """The patched document as upstream's errors show it: objects on the way to a change have sorted keys."""
    pointers = (operation.get(member) for operation in operations for member in ("path", "from"))
    ways = {tuple(_steps(pointer)[:-1]) for pointer in pointers if pointer}
    touched = {way[:depth] for way in ways for depth in range(len(way) + 1)} | {()}
    return gotext.json_text(_sorted(apply(original, operations), (), touched))


def _sorted(node: Any, way: tuple[str, ...], touched: set[tuple[str, ...]]) -> Any:
    if way not in touched:
        return node
    if isinstance(node, list):
        return [_sorted(item, (*way, str(index)), touched) for index, item in enumerate(node)]
    if isinstance(node, dict):
        return {key: _sorted(node[key], (*way, key), touched) for key in sorted(node)}
    return node


def _applied(document: Container, operation: Operation) -> Container:
    kind = operation.get("op") or "unknown"
    if kind not in _OPERATIONS:
        raise PatchFailed(f"Unexpected kind: {kind}")
    return _OPERATIONS[kind](document, operation)


def _add(document: Container, operation: Operation) -> Container:
    return _put(document, _pointer(operation, "path"), operation.get("value"))


def _remove(document: Container, operation: Operation) -> Container:
    return _changed(document, _pointer(operation, "path"), _without)


def _replace(document: Container, operation: Operation) -> Container:
    pointer, value = _pointer(operation, "path"), operation.get("value")
    if pointer:
        return _changed(document, pointer, lambda parent, key: _with(parent, key, value))
    if not isinstance(value, dict | list):
        raise PatchFailed("replace operation value must be object or array")
    return value


def _move(document: Container, operation: Operation) -> Container:
    source = _pointer(operation, "from")
    value = _found(document, source)
    return _put(_changed(document, source, _without), _pointer(operation, "path"), value)


def _copy(document: Container, operation: Operation) -> Container:
    return _put(document, _pointer(operation, "path"), _found(document, _pointer(operation, "from")))


def _test(document: Container, operation: Operation) -> Container:
    pointer, wanted = _pointer(operation, "path"), operation.get("value")
    if not _equal(_found(document, pointer) if pointer else document, wanted):
        raise PatchFailed(f"testing value {pointer} failed: test failed")
    return document


_OPERATIONS: Final[dict[str, Callable[[Container, Operation], Container]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "test": _test,
    "copy": _copy,
}


def _pointer(operation: Operation, member: str) -> str:
    pointer = operation.get(member)
    if pointer is None:
        raise PatchFailed(f"operation missing {member} field: missing value")
    return str(pointer)


def _steps(pointer: str) -> list[str]:
    """The steps of a pointer; what comes before the first slash is ignored."""
    _, *steps = pointer.split("/")
    if not steps:
        raise PatchFailed(f"doc is missing path: {pointer}: missing value")
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def _found(document: Container, pointer: str) -> Any:
    """The value a pointer leads to; the last step may lead to a member that is not there."""
    *way, last = _steps(pointer)
    parent = document
    for step in way:
        parent = _inside(parent, step, pointer)
    return _member(parent, last)


def _inside(parent: Container, step: str, pointer: str) -> Container:
    child = _member(parent, step)
    if not isinstance(child, dict | list):
        raise PatchFailed(f"doc is missing path: {pointer}: missing value")
    return child


def _member(parent: Container, key: str) -> Any:
    return parent.get(key) if isinstance(parent, dict) else parent[_index(key, len(parent))]


def _changed(document: Container, pointer: str, change: Callable[[Container, str], Container]) -> Container:
    """The document with `change` made to the container of what the pointer leads to."""
    return _changed_at(document, _steps(pointer), pointer, change)


def _changed_at(
    document: Container, steps: list[str], pointer: str, change: Callable[[Container, str], Container]
) -> Container:
    step, *rest = steps
    if not rest:
        return change(document, step)
    return _with(document, step, _changed_at(_inside(document, step, pointer), rest, pointer, change))


def _put(document: Container, pointer: str, value: Any) -> Container:
    return _changed(document, pointer, lambda parent, key: _inserted(parent, key, value))


def _inserted(parent: Container, key: str, value: Any) -> Container:
    if isinstance(parent, dict):
        return {**parent, key: value}
    at = len(parent) if key == "-" else _index(key, len(parent) + 1)
    return [*parent[:at], value, *parent[at:]]


def _with(parent: Container, key: str, value: Any) -> Container:
    if isinstance(parent, dict):
        return {**parent, key: value}
    at = _index(key, len(parent))
    return [*parent[:at], value, *parent[at + 1 :]]


def _without(parent: Container, key: str) -> Container:
    if isinstance(parent, dict):
        if key not in parent:
            raise PatchFailed(f"Unable to remove nonexistent key: {key}: missing value")
        return {name: value for name, value in parent.items() if name != key}
    at = _index(key, len(parent))
    return [*parent[:at], *parent[at + 1 :]]


def _index(key: str, size: int) -> int:
    """A place among `size`; negative numbers count from the end."""
    if not re.fullmatch(r"[-+]?[0-9]+", key):
        raise PatchFailed(f"value was not a proper array index: '{key}'")
    index = int(key)
    if not -size <= index < size:
        raise PatchFailed(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _equal(left: Any, right: Any) -> bool:
    """Equal as JSON texts: 1 is neither true nor 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
