"""What an update left as it was: the old value of each place, and whether it is still the same.

Values are compared as JSON (true is not 1, 1 is not 1.0). Fields correspond by name, items of a list only if it is
a map list, by their keys. Only places that a schema knows can correspond, as upstream has it
(``apiserver/pkg/cel/common/equality.go``).
"""

from typing import Any, Final

from flexlet.apiserver.crd.node import Node


class _Nothing:
    """Stands for a value that was not there."""


NOTHING: Final = _Nothing()


def same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal, types included."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(same(item, other[key]) for key, item in value.items())
    if isinstance(value, list):
        return len(value) == len(other) and all(map(same, value, other))
    return bool(value == other)


def unchanged(node: Node, value: Any, old: Any) -> bool:
    """Whether a value is the old one, place by place; items of a map list may have moved."""
    if type(value) is not type(old):
        return False
    if isinstance(value, dict):
        return value.keys() == old.keys() and all(
            (below := node.below(name)) is not None and unchanged(below, item, old[name])
            for name, item in value.items()
        )
    if isinstance(value, list) and node.list_type == "map" and node.items is not None:
        before = Items(node, old)
        return len(value) == len(old) and all(
            (found := before.of(item)) is not NOTHING and unchanged(node.items, item, found) for item in value
        )
    return same(value, old)


class Items:
    """The items of an old list, found by the keys of a new item."""

    def __init__(self, node: Node, old: Any) -> None:
        self._keys = node.list_keys
        self._found: dict[Any, Any] = {}
        if node.list_type == "map" and type(old) is list:
            for item in old:
                self._found.setdefault(self._key(item), item)
            self._found.pop(None, None)

    def of(self, item: Any) -> Any:
        """The old item that this one replaces, or NOTHING."""
        return self._found.get(self._key(item), NOTHING) if self._found else NOTHING

    def _key(self, item: Any) -> Any:
        """The values of the keys with their types; None if they are not all there and plain."""
        if type(item) is not dict or not all(type(item.get(key)) in _SCALARS for key in self._keys):
            return None
        return tuple((type(item[key]), item[key]) for key in self._keys)


_SCALARS: Final = frozenset({bool, int, float, str})
