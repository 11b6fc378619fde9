"""Lists in strategic merge patches: finding items by key, uniting, deleting.

Equality is Go's for decoded JSON: 80 is not 80.0 and not true. All items of both lists must be of one kind.
"""

from collections.abc import Callable
from typing import Any, Final

from flexlet.api import gotext
from flexlet.api.patch import ordering
from flexlet.api.patch.errors import MergeFault, MergeKeyMissing, PatchFailed

DIRECTIVE: Final = "$patch"

Items = list[Any]
MergeItems = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def merge(original: Items, patch: Items, key: str, merge_items: MergeItems) -> Items:
    """Unite two lists: scalars as a set, objects by their merge key, in upstream's order."""
    if not original and not patch:
        return original
    if not are_objects(original, patch):
        return ordering.arranged(_united(original, patch), patch, original, "")
    if not key:
        raise MergeFault("cannot merge lists without merge key for struct")
    original, patch = _obeyed(original, patch, key)
    return ordering.arranged(_merged(original, patch, key, merge_items), patch, original, key)


def without(original: Items, removed: Items) -> Items:
    """The scalars of a list that are not to be deleted."""
    if original or removed:
        are_objects(original, removed)
    gone = set(map(ordering.identity, removed))
    return [item for item in original if ordering.identity(item) not in gone]


def are_objects(*lists: Items) -> bool:
    """Whether the lists hold objects (or else scalars of one kind); a fault if kinds are mixed."""
    items = [item for one in lists for item in one]
    if not items:
        raise MergeFault("no elements in any of the given slices")
    if isinstance(items[0], list):
        raise PatchFailed("lists of lists are not supported")
    if any(type(item) is not type(items[0]) for item in items):
        raise MergeFault(f"list element types are not identical: {gotext.sprint(list(lists))}")
    return isinstance(items[0], dict)


def _united(original: Items, patch: Items) -> Items:
    united: dict[Any, Any] = {}
    for item in [*original, *patch]:
        united.setdefault(ordering.identity(item), item)
    return list(united.values())


def _obeyed(original: Items, patch: Items, key: str) -> tuple[Items, Items]:
    """Original and patch after the directives among the patch's items."""
    plain: Items = []
    deleted: set[Any] = set()
    replaced = False
    for item in patch:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            deleted.add(ordering.identity(ordering.key_of(item, key)))
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise MergeFault("merging lists cannot yet be specified in the patch")
        else:
            raise MergeFault(f"unknown patch type: {gotext.sprint(directive)} in map: {gotext.sprint(item)}")
    if replaced:
        return plain, []
    kept = [other for other in original if not (key in other and ordering.identity(other[key]) in deleted)]
    return kept, plain


def _merged(original: Items, patch: Items, key: str, merge_items: MergeItems) -> Items:
    result = list(original)
    places = ordering.positions(result, key)
    for item in patch:
        if key not in item:
            raise MergeKeyMissing(ordering.missing(item, key))
        at = places.setdefault(ordering.identity(item[key]), len(result))
        if at == len(result):
            result.append(item)
        else:
            result[at] = merge_items(result[at], item)
    return result
