"""What a request brought along, as the audit log shows it: in the form of its kind, defaults filled in."""

from typing import Any, Final

import msgspec

from flexlet.apiserver.audit.trail import Trail
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.rest import finished
from flexlet.apiserver.rest.deleteoptions import DeleteOptions
from flexlet.errors import FlexletError

_INTERNAL: Final = "meta.k8s.io/__internal"  # upstream logs its own form of DeleteOptions, and so its version
_NAMES: Final = ("kind", "apiVersion")


def follow(trail: Trail | None, kind: Kind | None, obj: Object) -> None:
    """Note the object of a create or an update; without a kind it is shown as it came."""
    if trail is None:
        return
    metadata = obj.get("metadata")
    trail.names(metadata if isinstance(metadata, dict) else {})
    if trail.wants_request:
        trail.requested(msgspec.json.encode(obj) if kind is None else _defaulted(kind, obj))


def follow_deletion(trail: Trail | None, options: DeleteOptions) -> None:
    """Note the options of a deletion."""
    if trail is None or not trail.wants_request:
        return
    values: dict[str, Any] = msgspec.to_builtins(options)
    given = {key: value for key, value in values.items() if value is not None and key not in _NAMES}
    trail.requested(msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": _INTERNAL, **given}))


def _defaulted(kind: Kind, obj: Object) -> bytes:
    """A copy is completed: the request itself goes on as it is."""
    copied = finished.copy(obj)
    if not isinstance(copied.get("metadata"), dict):
        copied["metadata"] = {}
    try:
        kind.strategy.default(copied)
        return finished.encode(kind, copied, None)
    except (FlexletError, KeyError, TypeError):
        return msgspec.json.encode(obj)
