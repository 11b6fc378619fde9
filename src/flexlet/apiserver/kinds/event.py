"""Events, in both groups: one storage, two faces.

The core group's form is stored. Its rules are old and loose; events.k8s.io demands what a modern reporter knows
(when, by whom, what kind). `eventforms` turns one form into the other.
"""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import age, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.columns import COLUMNS
from flexlet.apiserver.kinds.eventforms import from_core, to_core
from flexlet.apiserver.kinds.eventrules import check_event, check_event_change, check_modern
from flexlet.apiserver.kinds.strategy import KindStrategy, name_of

BUCKET: Final = "events"
_OBJECT_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


class EventStrategy(KindStrategy):
    """The core group's face, which is also the stored form."""

    type_name = "core.v1.Event"

    def validate(self, obj: Object) -> list[FieldError]:
        """No rules for metadata but those that hold for everything."""
        return check_event(obj, "reportingComponent")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """As on create: anybody may rewrite an event."""
        del old
        return self.validate(obj)

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Whom it is about, why, and who says so."""
        about = obj.get("involvedObject", {})
        reporter = obj.get("reportingComponent", "")
        return {
            **{f"involvedObject.{key}": about.get(key, "") for key in _OBJECT_FIELDS},
            "reason": obj.get("reason", ""),
            "reportingComponent": reporter,
            "source": obj.get("source", {}).get("component") or reporter,
            "type": obj.get("type", ""),
        }

    def cells(self, obj: Object, now: float) -> list[Any]:
        """When, what, about whom, by whom, how often."""
        first, last, count = _times(obj, now)
        about = obj.get("involvedObject", {})
        kind = about.get("kind", "").lower()
        return [
            last,
            obj.get("type", ""),
            obj.get("reason", ""),
            f"{kind}/{about['name']}" if about.get("name") else kind,
            about.get("fieldPath", ""),
            _reporter(obj),
            obj.get("message", "").strip(),
            first,
            count,
            name_of(obj),
        ]


class ModernEventStrategy(KindStrategy):
    """The face of events.k8s.io; `to_storage` and `from_storage` lead to the stored form and back."""

    type_name = "events.v1.Event"
    columns = COLUMNS["Event"]

    def to_storage(self, obj: Object) -> Object:
        """The core form of an event in this one."""
        return to_core(obj)

    def from_storage(self, obj: Object) -> Object:
        """The event in this form, made from the core one."""
        return from_core(obj)

    def validate(self, obj: Object) -> list[FieldError]:
        """The rules of all events, of metadata, and of modern ones."""
        event = to_core(obj)
        errors = check_event(event, "reportingController")
        errors += metadata.validate(event, names.dns1123_subdomain)
        return errors + check_modern(event)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Only the series may go on; `old` is in this form too."""
        event, before = to_core(obj), to_core(old)
        errors = check_event(event, "reportingController")
        errors += metadata.validate_update(event, before)
        return errors + check_event_change(event, before)

    def fields(self, obj: Object) -> Mapping[str, str]:
        """As in the core group, under this group's names."""
        about = obj.get("regarding", {})
        return {
            **{f"regarding.{key}": about.get(key, "") for key in _OBJECT_FIELDS},
            "reason": obj.get("reason", ""),
            "reportingController": obj.get("reportingController", ""),
            "type": obj.get("type", ""),
        }

    def cells(self, obj: Object, now: float) -> list[Any]:
        """As in the core group."""
        return EVENT.strategy.cells(to_core(obj), now)


def _times(obj: Object, now: float) -> tuple[str, str, int]:
    """First seen, last seen, how often; a series knows the last two better."""
    first = age.since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = age.since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    series = obj.get("series")
    if series is None:
        return first, last, obj.get("count") or 1
    return first, age.since(series.get("lastObservedTime"), now), series.get("count", 0)


def _reporter(obj: Object) -> str:
    source = obj.get("source", {})
    component = source.get("component") or obj.get("reportingComponent", "")
    instance = source.get("host") or obj.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


EVENT: Final = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    singular="event",
    namespaced=True,
    short_names=("ev",),
    schema="core.v1.Event",
    strategy=EventStrategy(),
    bucket=BUCKET,
    create_on_update=True,
)

MODERN_EVENT: Final = Kind(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    singular="event",
    namespaced=True,
    short_names=("ev",),
    schema="events.v1.Event",
    strategy=ModernEventStrategy(),
    bucket=BUCKET,
    storage_version=False,
    create_on_update=True,
)
