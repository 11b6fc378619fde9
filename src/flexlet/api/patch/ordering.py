"""The order of merged lists.

Items the patch names stand in the patch's order, the others in the server's; the two are then woven together. At
each step the server's item goes first only if both candidates were on the server and it stood before the other;
otherwise the patch's item does. So an item that is new with the patch comes before what is left of the server's.
``$setElementOrder/F`` replaces the patch's order, and is checked against it.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.api.patch.errors import MergeFault, MergeKeyMissing

_DIRECTIVE: Final = "$patch"
_canonical: Final = msgspec.json.Encoder(order="sorted").encode

Items = list[Any]


def same(left: Any, right: Any) -> bool:
    """Equal values of one kind."""
    return type(left) is type(right) and bool(left == right)


def identity(value: Any) -> Any:
    """A key for dicts and sets, equal for values that are `same`: long lists are not searched item by item."""
    if isinstance(value, dict | list):
        return type(value), _canonical(value)
    return type(value), value


def positions(items: Items, key: str) -> dict[Any, int]:
    """Where the first item of each identity (of its key's value, if there is a key) stands."""
    found: dict[Any, int] = {}
    for index, item in enumerate(items):
        found.setdefault(identity(item.get(key) if key else item), index)
    return found


def key_of(item: Any, key: str) -> Any:
    """The value of an item's merge key; a fault if it has none."""
    if not isinstance(item, dict):
        raise MergeFault(wrong_type({}, item))
    if key not in item:
        raise MergeKeyMissing(missing(item, key))
    return item[key]


def missing(item: dict[str, Any], key: str) -> str:
    """What to say about an item without its merge key."""
    return f"map: {gotext.sprint(item)} does not contain declared merge key: {key}"


def wrong_type(expected: Any, actual: Any) -> str:
    """What to say about a value of another type than the directive needs."""
    return f"expected a {gotext.type_name(expected)}, but received a {gotext.type_name(actual)}"


def arranged(merged: Items, patch_order: Items, server_order: Items, key: str) -> Items:
    """The merged items in their final order."""
    if key:
        for item in [*merged, *patch_order, *server_order]:
            key_of(item, key)
    patched, stored = positions(patch_order, key), positions(server_order, key)

    def place(among: dict[Any, int], item: Any) -> int:
        return among.get(identity(item.get(key) if key else item), -1)

    named = sorted((item for item in merged if place(patched, item) >= 0), key=lambda item: place(patched, item))
    others = sorted((item for item in merged if place(patched, item) < 0), key=lambda item: place(stored, item))
    return _woven(others, named, lambda item: place(stored, item))


def _woven(others: Items, named: Items, place: Callable[[Any], int]) -> Items:
    result: Items = []
    left, right = 0, 0
    while left < len(others) and right < len(named):
        on_left, on_right = place(others[left]), place(named[right])
        if 0 <= on_left < on_right:
            result.append(others[left])
            left += 1
        else:
            result.append(named[right])
            right += 1
    return [*result, *others[left:], *named[right:]]


def check(patch: Items, order: Items, key: str) -> None:
    """Refuse a patch whose items are not a subsequence of the order given with it."""
    if not patch or not order:
        return
    for item in patch:
        if key and not isinstance(item, dict):
            raise MergeFault(wrong_type({}, item))
    # Items with a directive have no place in the order.
    waiting = [item for item in patch if not (isinstance(item, dict) and _DIRECTIVE in item)]
    found = 0
    for wanted in order:
        if found < len(waiting) and same(_comparable(waiting[found], key), _comparable(wanted, key)):
            found += 1
    if found < len(waiting):
        shown = f"{gotext.sprint(patch)}\n doesn't match $setElementOrder list:\n{gotext.sprint(order)}\n"
        raise MergeFault(f"The order in patch list:\n{shown}")


def _comparable(item: Any, key: str) -> Any:
    return key_of(item, key) if key else item
