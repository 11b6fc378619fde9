"""JSON patches (RFC 6902), as the library upstream uses reads the RFC.

Not done with a Python library, because clients can see the differences: ``replace`` of a missing member adds it,
an index may count from the end (``-1``), ``test`` of a missing member against null succeeds, what stands before
the first slash of a pointer is ignored, and no operation but ``replace`` and ``test`` reaches the whole document.
Follows ``evanphx/json-patch`` v4.

Only what lies on the way to a change is copied, and only once for all operations: 10,000 of them on a map of as
many keys take no longer than they have to. What ``copy`` copies may not be larger than 3 MiB in all, as upstream.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.api import gojson, gotext
from flexlet.api.patch import documents
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import PatchFailed, PatchTooLarge
from flexlet.api.schema.types import ListOf, Type

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
MAX_STEPS: Final = 20
"""Of a pointer; a result that longer ones may have nested too deep is looked at."""

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
    tree = _Tree(original)
    for operation in operations:
        _applied(tree, operation or {})
    return tree.result()


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


class _Tree:
    """The document while operations change it: a container is copied before its first change, and then is ours."""

    def __init__(self, original: Container) -> None:
        self.root: Container = original
        self._ours: dict[int, Container] = {}
        """By identity; holding them keeps the identities from being given away again."""
        self._copied_bytes = 0
        self._may_be_deep = False

    def result(self) -> Container:
        """The changed document, unless its like would not be accepted as a body."""
        if self._may_be_deep:
            self._require_bounds(self.root)
        return self.root

    def parent(self, pointer: str) -> tuple[Container, str]:
        """The container of what the pointer leads to, to be changed in place, and the last step."""
        *way, last = _steps(pointer)
        self._may_be_deep |= len(way) > MAX_STEPS
        self.root = here = self._own(self.root)
        for step in way:
            child = _inside(here, step, pointer)
            mine = self._own(child)
            if mine is not child:
                _set(here, step, mine)
            here = mine
        return here, last

    def moved(self) -> None:
        """Something was put elsewhere, perhaps deeper."""
        self._may_be_deep = True

    def shared(self, value: Any) -> Any:
        """A value that stands in two places from now on, so that nothing of it is ours alone any more."""
        self._require_bounds(value)
        self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise PatchFailed(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
            )
        self._may_be_deep = True
        todo = [value]
        while todo:
            node = todo.pop()
            if isinstance(node, dict | list):
                self._ours.pop(id(node), None)
                todo.extend(node.values() if isinstance(node, dict) else node)
        return value

    def _own(self, container: Container) -> Container:
        if id(container) in self._ours:
            return container
        mine: Container = dict(container) if isinstance(container, dict) else list(container)
        self._ours[id(mine)] = mine
        return mine

    @staticmethod
    def _require_bounds(value: Any) -> None:
        try:
            gojson.require_bounds(value)
        except gojson.SyntaxFault as fault:
            raise PatchFailed(fault.message) from None


def _applied(tree: _Tree, operation: Operation) -> None:
    kind = operation.get("op") or "unknown"
    if kind not in _OPERATIONS:
        raise PatchFailed(f"Unexpected kind: {kind}")
    _OPERATIONS[kind](tree, operation)


def _add(tree: _Tree, operation: Operation) -> None:
    _insert(*tree.parent(_pointer(operation, "path")), operation.get("value"))


def _remove(tree: _Tree, operation: Operation) -> None:
    _delete(*tree.parent(_pointer(operation, "path")))


def _replace(tree: _Tree, operation: Operation) -> None:
    pointer, value = _pointer(operation, "path"), operation.get("value")
    if pointer:
        _set(*tree.parent(pointer), value)
        return
    if not isinstance(value, dict | list):
        raise PatchFailed("replace operation value must be object or array")
    tree.root = value


def _move(tree: _Tree, operation: Operation) -> None:
    source = _pointer(operation, "from")
    value = _found(tree.root, source)
    _delete(*tree.parent(source))
    _insert(*tree.parent(_pointer(operation, "path")), value)
    tree.moved()


def _copy(tree: _Tree, operation: Operation) -> None:
    # Shared before the way to its new place is made ours: that may lead through the value itself.
    value = tree.shared(_found(tree.root, _pointer(operation, "from")))
    _insert(*tree.parent(_pointer(operation, "path")), value)


def _test(tree: _Tree, operation: Operation) -> None:
    pointer, wanted = _pointer(operation, "path"), operation.get("value")
    if not _equal(_found(tree.root, pointer) if pointer else tree.root, wanted):
        raise PatchFailed(f"testing value {pointer} failed: test failed")


_OPERATIONS: Final[dict[str, Callable[[_Tree, Operation], None]]] = {
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


def _insert(parent: Container, key: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    else:
        parent.insert(len(parent) if key == "-" else _index(key, len(parent) + 1), value)


def _set(parent: Container, key: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    else:
        parent[_index(key, len(parent))] = value


def _delete(parent: Container, key: str) -> None:
    if isinstance(parent, dict):
        if key not in parent:
            raise PatchFailed(f"Unable to remove nonexistent key: {key}: missing value")
        del parent[key]
    else:
        del parent[_index(key, len(parent))]


_MAX_DIGITS: Final = 20


def _index(key: str, size: int) -> int:
    """A place among `size`; negative numbers count from the end."""
    if not re.fullmatch(r"[-+]?[0-9]+", key):
        raise PatchFailed(f"value was not a proper array index: '{key}'")
    index = int(key) if len(key) < _MAX_DIGITS else size
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
