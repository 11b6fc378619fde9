"""The two forms of an event, one made from the other; nothing is lost on the way.

Only names differ, and Go writes other empty fields in each group, so the result is settled. apiVersion is changed
too.
"""

from typing import Final

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import shape

CORE: Final = "v1"
MODERN: Final = "events.k8s.io/v1"

_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_MODERN_NAMES: Final = {core: modern for modern, core in _CORE_NAMES.items()}


def to_core(event: Object) -> Object:
    """An event of events.k8s.io as the core group has it."""
    return _renamed(event, _CORE_NAMES, CORE, "core.v1.Event")


def from_core(event: Object) -> Object:
    """An event of the core group as events.k8s.io has it."""
    return _renamed(event, _MODERN_NAMES, MODERN, "events.v1.Event")


def _renamed(event: Object, names: dict[str, str], api_version: str, type_name: str) -> Object:
    form = {names.get(key, key): value for key, value in event.items() if value is not None}
    header: Object = {key: form.pop(key) for key in ("kind", "apiVersion") if key in form}
    shape.settle(form, type_name)
    if "apiVersion" in header:
        header["apiVersion"] = api_version
    return {**header, **form}
