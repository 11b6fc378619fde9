"""What an event must say, in its core form; follows ``pkg/apis/core/validation/events.go``.

Events with an `eventTime` come from modern reporters and must name themselves, whatever group they came through.
"""

from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

MAX_WORD: Final = 128
MAX_MESSAGE: Final = 1024
_TYPES: Final = ("Normal", "Warning")
_ELSEWHERE: Final = "does not match event.namespace"
_FOR_GOOD: Final = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason"),
    *("type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
# In events.k8s.io these are told under its own names, where upstream says so.
_SHOWN_AS: Final = {"reportingComponent": "reportingController"}
_REFERENCE: Final = (
    *(("Kind", "kind"), ("Namespace", "namespace"), ("Name", "name"), ("UID", "uid")),
    *(("APIVersion", "apiVersion"), ("ResourceVersion", "resourceVersion"), ("FieldPath", "fieldPath")),
)


def check_event(event: Object, reporter_field: str) -> list[FieldError]:
    """The rules of both groups; the reporter's field has a name of its own in each."""
    namespace = event["metadata"].get("namespace", "")
    about = event.get("involvedObject", {}).get("namespace", "")
    modern = bool(event.get("eventTime"))
    errors = []
    if not _belongs(namespace, about, modern=modern):
        errors.append(fielderrors.invalid("involvedObject.namespace", about, _ELSEWHERE))
    if modern:
        errors += _check_reporter(event, reporter_field)
    complaints = names.dns1123_subdomain(namespace)
    return errors + [fielderrors.invalid("namespace", namespace, complaint) for complaint in complaints]


def check_modern(event: Object) -> list[FieldError]:
    """What events.k8s.io demands of a new event."""
    errors = _check_series(event.get("series"))
    if not event.get("eventTime"):
        errors.append(fielderrors.required("eventTime"))
    kind = event.get("type", "")
    if kind not in _TYPES:
        errors.append(fielderrors.invalid("type", "", f"has invalid value: {kind}"))
    unset = ("firstTimestamp", "lastTimestamp", "count", "source")
    return errors + [fielderrors.invalid(key, "", "needs to be unset") for key in unset if event.get(key)]


def check_event_change(event: Object, old: Object) -> list[FieldError]:
    """What events.k8s.io lets change: the series, labels, annotations."""
    errors = [] if event.get("series") == old.get("series") else _check_series(event.get("series"))
    return errors + [
        fielderrors.invalid(_SHOWN_AS.get(key, key), _shown(key, event.get(key)), "field is immutable")
        for key in _FOR_GOOD
        if event.get(key) != old.get(key)
    ]


def _belongs(namespace: str, about: str, *, modern: bool) -> bool:
    """Events of cluster objects live in a default place; others beside their object."""
    if not about:
        return namespace in ({"default", "kube-system"} if modern else {"", "default"})
    return modern or namespace == about


def _check_reporter(event: Object, reporter_field: str) -> list[FieldError]:
    reporter = event.get("reportingComponent", "")
    errors = [] if reporter else [fielderrors.required(reporter_field)]
    errors += [
        fielderrors.invalid(reporter_field, reporter, complaint) for complaint in names.qualified_name(reporter)
    ]
    for key in ("reportingInstance", "action", "reason"):
        word = event.get(key, "")
        if not word:
            errors.append(fielderrors.required(key))
        elif len(word.encode()) > MAX_WORD:
            errors.append(fielderrors.invalid(key, "", f"can have at most {MAX_WORD} characters"))
    if len(event.get("message", "").encode()) > MAX_MESSAGE:
        errors.append(fielderrors.invalid("message", "", f"can have at most {MAX_MESSAGE} characters"))
    return errors


def _check_series(series: Object | None) -> list[FieldError]:
    if series is None:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(fielderrors.invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(fielderrors.required("series.lastObservedTime"))
    return errors


def _shown(key: str, value: Any) -> Any:
    """A value as upstream's internal form prints it."""
    if key in {"involvedObject", "related"} and value is not None:
        return {go: value.get(name, "") for go, name in _REFERENCE}
    if key == "source":
        return {"Component": value.get("component", ""), "Host": value.get("host", "")} if value else None
    return 0 if key == "count" and value is None else value
