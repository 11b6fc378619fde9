"""The difference between a Node as it is and as it should be, as a strategic merge patch of ``nodes/status``.

Only what differs is sent, so that others may write the same object at the same time. Conditions are merged by
type, and all of the node's own go along with each patch, because that is where the heartbeat is. Addresses are
replaced as a whole: merged by type, one of two InternalIPs would be lost.
"""

from typing import Any, Final

from flexlet.core.node.conditions import OWN, without_heartbeat
from flexlet.core.node.status import amounts

Object = dict[str, Any]

_AMOUNTS: Final = ("capacity", "allocatable")
_FIELDS: Final = (*_AMOUNTS, "nodeInfo")
_WHOLE: Final = ("daemonEndpoints", "images", "runtimeHandlers", "features", "declaredFeatures")


def changes(old: Object, new: Object) -> Object:
    """What to patch in the status, apart from heartbeats; empty if nothing changed."""
    patch: Object = {}
    for field in _FIELDS:
        entries = _entries(field, old.get(field) or {}, new.get(field) or {})
        patch |= {field: entries} if entries else {}
    for field in _WHOLE:
        if (old.get(field) or None) != (new.get(field) or None):
            patch[field] = new.get(field) or None
    if (old.get("addresses") or []) != (new.get("addresses") or []):
        replace = [{"$patch": "replace"}] if old.get("addresses") else []
        patch["addresses"] = [*(new.get("addresses") or []), *replace]
    if _by_type(old) != _by_type(new):
        patch["conditions"] = heartbeat(old, new)
    return patch


def heartbeat(old: Object, new: Object) -> list[Object]:
    """The node's own conditions, with their new time, and the end of those that it has no more."""
    own = [condition for condition in new.get("conditions") or [] if condition.get("type") in OWN]
    ended = [kind for kind in OWN if kind in _by_type(old) and kind not in _by_type(new)]
    return [*own, *({"$patch": "delete", "type": kind} for kind in ended)]


def _entries(field: str, old: Object, new: Object) -> Object:
    """Changed and added entries, and None for those that go; amounts are compared as amounts."""
    parsed = (amounts(old), amounts(new)) if field in _AMOUNTS else (old, new)
    gone = dict.fromkeys(sorted(old.keys() - new.keys()))
    return {key: new[key] for key in new if parsed[0].get(key) != parsed[1][key]} | gone


def _by_type(status: Object) -> dict[str, Object]:
    return {entry.get("type", ""): without_heartbeat(entry) for entry in status.get("conditions") or []}
