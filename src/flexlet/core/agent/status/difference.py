"""Whether a status is news, and the patch that brings it to the API.

A strategic merge patch merges objects by field and lists by key, so what has vanished must be named: fields as
null, conditions with ``$patch: delete``. Statuses of containers are replaced list by list. Addresses have a
merge key but are one value to us, so they are replaced too. Conditions of others are left out: they are not ours
to write, and changing them is no news of ours.
"""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import decode
from flexlet.api.nodepod import NodePod
from flexlet.core.agent.status.conditions import DISRUPTION, OURS
from flexlet.core.resize.conditions import RESIZE_IN_PROGRESS
from flexlet.core.resources.statusaware import RESIZE_PENDING

Json = dict[str, Any]

CONDITIONS: Final = "conditions"
_ADDRESSES: Final = ("podIPs", "hostIPs")
_RESIZE: Final = (RESIZE_PENDING, RESIZE_IN_PROGRESS)
_FOREIGN: Final = frozenset(
    {
        "resize",
        "nominatedNodeName",
        "resourceClaimStatuses",
        "extendedResourceClaimStatus",
        "nodeAllocatableResourceClaimStatuses",
    }
)
"""Fields of the status that others write."""


def same(a: Json | None, b: Json | None) -> bool:
    """Whether two statuses say the same; when a resize was last looked at, and what others say, does not count."""
    if a is None or b is None:
        return a is b
    if a.keys() != b.keys() or any(a[key] != b[key] for key in a if key != CONDITIONS):
        return False
    return _compared(a.get(CONDITIONS, ())) == _compared(b.get(CONDITIONS, ()))


def patch(pod: NodePod, status: Json, before: Json | None = None) -> Json:
    """The body for ``pods/<name>/status``; `before` is the status that the API has, by default the pod's own."""
    old = _copy(pod) if before is None else before
    changed: Json = {}
    for key in old.keys() | status.keys():
        if key in _FOREIGN or old.get(key) == status.get(key):
            continue
        if key == CONDITIONS:
            changed |= _conditions(old.get(key, ()), status.get(key, ()))
        else:
            changed[key] = _field(key, old.get(key), status.get(key))
    return {"metadata": {"uid": pod.metadata.uid}, "status": changed}


def _copy(pod: NodePod) -> Json:
    """What we read of the API's status; the list of the node's addresses is not, but comes with the first."""
    status: Json = decode.to_value(pod.status)
    return status | {"hostIPs": [{"ip": status["hostIP"]}]} if "hostIP" in status else status


def _compared(conditions: Any) -> list[Json]:
    return [_without_probe(each) for each in conditions if each["type"] in OURS or each["type"] == DISRUPTION]


def _without_probe(condition: Json) -> Json:
    if condition["type"] not in _RESIZE:
        return condition
    return {key: value for key, value in condition.items() if key != "lastProbeTime"}


def _field(key: str, old: Any, new: Any) -> Any:
    if new is None:
        return None
    if key in _ADDRESSES:
        return [*new, {"$patch": "replace"}]
    return _merged(old, new) if isinstance(old, dict) and isinstance(new, dict) else new


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Json:
    """What turns one object into another by merging."""
    changed: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        known = old.get(key)
        if known != value:
            nested = isinstance(known, dict) and isinstance(value, dict)
            changed[key] = _merged(known or {}, value) if nested else value
    return changed


def _conditions(old: Any, new: Any) -> Json:
    before = {each["type"]: each for each in old}
    after = {each["type"]: each for each in new}
    ours = OURS | {DISRUPTION}
    entries = [
        {"type": kind} | _merged(_spoken(before.get(kind, {})), _spoken(each))
        for kind, each in after.items()
        if kind in ours and _spoken(each) != _spoken(before.get(kind, {}))
    ]
    gone = [{"$patch": "delete", "type": kind} for kind in before if kind in OURS and kind not in after]
    if not entries and not gone:
        return {}
    order = [{"type": kind} for kind in after]
    return {f"$setElementOrder/{CONDITIONS}": order, CONDITIONS: [*entries, *gone]}


def _spoken(condition: Mapping[str, Any]) -> Json:
    """A time that is null is a time that is absent."""
    return {key: value for key, value in condition.items() if value is not None}
