"""Whether two pod specs mean the same.

Amounts compare by value (``1`` is ``1000m``), and an empty list or map is the same as none. Upstream calls this
semantic equality; the generation of a pod counts changes in this sense.
"""

from typing import Any, Final

from flexlet.api import decode

_AMOUNTS: Final = frozenset({"limits", "requests", "overhead", "sizeLimit", "divisor"})
# Maps whose emptiness means nothing; an empty struct (``emptyDir: {}``) on the other hand is a choice.
_MAPS: Final = frozenset(
    {
        *("limits", "requests", "overhead", "nodeSelector", "matchLabels", "options", "volumeAttributes"),
        *("labels", "annotations", "userAnnotations"),
    }
)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values of a pod mean the same."""
    return one == other or _same(one, other, "")


def _same(one: Any, other: Any, key: str) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        under = key if key in _AMOUNTS else ""
        return all(_same(one.get(k), other.get(k), under or k) for k in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, "") for a, b in zip(one, other, strict=True))
    if one is None or other is None:
        present = other if one is None else one
        return present is None or present == [] or (present == {} and key in _MAPS)
    if one == other:
        return True
    return key in _AMOUNTS and decode.quantity(one) == decode.quantity(other)
