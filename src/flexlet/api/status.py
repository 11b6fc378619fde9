"""Kubernetes ``Status`` answers, and the exceptions that carry them.

Everything that can go wrong with an API call is an ApiError; its `status` is what travels on the wire. The
constructors at the end build the texts clients and people know (``pods "web" not found``).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from flexlet.api.fielderrors import FieldError
from flexlet.api.meta import KubeStruct
from flexlet.errors import FlexletError


class StatusCause(KubeStruct, frozen=True, kw_only=True):
    """One reason behind a failure; `field` is a path for validation errors."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(KubeStruct, frozen=True, kw_only=True):
    """Which object a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class ListMeta(KubeStruct, frozen=True, kw_only=True):
    """Metadata of lists and Statuses."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class Status(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a failed call, and to some successful ones."""

    kind: str = "Status"
    api_version: str = "v1"
    metadata: ListMeta = ListMeta()
    status: str = "Failure"
    message: str | msgspec.UnsetType = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET
    details: StatusDetails | msgspec.UnsetType = msgspec.UNSET
    code: int | msgspec.UnsetType = msgspec.UNSET


class ApiError(FlexletError):
    """A call to a Kubernetes API failed; `status` says why in Kubernetes' words."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message or status.reason or f"HTTP {status.code}")
        self.status = status

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code or 500

    @property
    def reason(self) -> str:
        """The one-word reason, empty if there is none."""
        return self.status.reason or ""


class BadRequest(ApiError):
    """400: the request itself is malformed."""


class Unauthorized(ApiError):
    """401: nobody knows who is asking."""


class Forbidden(ApiError):
    """403: the caller may not do this, or admission refuses the object."""


class NotFound(ApiError):
    """404: no such object."""


class Conflict(ApiError):
    """409: the object changed meanwhile; read it again."""


class AlreadyExists(Conflict):
    """409: the name is taken."""


class Gone(ApiError):
    """410: the requested version is no longer kept; list again."""


class Invalid(ApiError):
    """422: the object breaks rules; the causes name the fields."""


class TooManyRequests(ApiError):
    """429: try again later."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def error_of(status: Status) -> ApiError:
    """The exception for a Status received from a server."""
    if status.reason == "AlreadyExists":
        return AlreadyExists(status)
    return _BY_CODE.get(status.code or 500, ApiError)(status)


def failure(
    code: int,
    reason: str = "",
    message: str = "",
    details: StatusDetails | None = None,
) -> ApiError:
    """Any failure; parts left empty are absent on the wire."""
    status = Status(
        code=code,
        reason=reason or msgspec.UNSET,
        message=message or msgspec.UNSET,
        details=details if details is not None else msgspec.UNSET,
    )
    return error_of(status)


def internal(detail: str) -> ApiError:
    """500: not the client's fault."""
    details = StatusDetails(causes=(StatusCause(message=detail),))
    return failure(500, "InternalError", f"Internal error occurred: {detail}", details)


def qualified(resource: str, group: str) -> str:
    """``deployments.apps``, or ``pods`` for the core group."""
    return f"{resource}.{group}" if group else resource


def bad_request(message: str) -> ApiError:
    """The request cannot be understood."""
    return failure(400, "BadRequest", message)


def not_found(resource: str, group: str, name: str) -> ApiError:
    """No object of that name."""
    details = StatusDetails(name=name, group=group, kind=resource)
    return failure(404, "NotFound", f'{qualified(resource, group)} "{name}" not found', details)


def already_exists(resource: str, group: str, name: str) -> ApiError:
    """The name is taken."""
    details = StatusDetails(name=name, group=group, kind=resource)
    return failure(409, "AlreadyExists", f'{qualified(resource, group)} "{name}" already exists', details)


def conflict(resource: str, group: str, name: str, detail: str) -> ApiError:
    """The object is not in the state the caller assumed."""
    details = StatusDetails(name=name, group=group, kind=resource)
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {detail}'
    return failure(409, "Conflict", message, details)


def forbidden(resource: str, group: str, name: str, detail: str, causes: Sequence[StatusCause] = ()) -> ApiError:
    """The caller may not do this, or admission refuses; an empty name means the collection."""
    details = StatusDetails(name=name, group=group, kind=resource, causes=tuple(causes))
    subject = f'{qualified(resource, group)} "{name}"' if name else qualified(resource, group)
    return failure(403, "Forbidden", f"{subject} is forbidden: {detail}", details)


MAX_CAUSES: Final = 1000
"""Of one Status: an object of thousands of wrong items would be answered by tens of megabytes."""
MAX_CAUSES_BYTES: Final = 1024 * 1024
"""Of their texts, beyond the first: each may quote a value of megabytes."""


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """The object breaks rules; one cause per field error, of which the first thousand are told."""
    told = _told(errors)
    unsaid = len(errors) - told
    errors = errors[:told]
    causes = tuple(StatusCause(reason=e.reason, message=e.message, field=e.field) for e in errors)
    # Upstream prints an error only once, however often it was found.
    texts = list(dict.fromkeys(str(error) for error in errors))
    texts += [f"and {unsaid} more"] if unsaid > 0 else []
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = StatusDetails(name=name, group=group, kind=kind, causes=causes)
    return failure(422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {listed}', details)


def _told(errors: Sequence[FieldError]) -> int:
    """How many of the errors, from the first, a Status has room for."""
    room = MAX_CAUSES_BYTES
    for told, error in enumerate(errors[:MAX_CAUSES]):
        if room <= 0:
            return told
        room -= len(error.message)
    return min(len(errors), MAX_CAUSES)


def success(details: StatusDetails | None = None, code: int | None = None) -> Status:
    """The answer of calls that succeed without an object to show."""
    return Status(
        status="Success",
        details=details if details is not None else msgspec.UNSET,
        code=code if code is not None else msgspec.UNSET,
    )


def encode(status: Status) -> bytes:
    """The Status as JSON bytes."""
    return msgspec.json.encode(status)


def decode(data: bytes, code: int) -> Status:
    """Read a Status answer; a body that is none becomes the message of one."""
    try:
        return msgspec.json.decode(data, type=Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Status(code=code, message=data.decode(errors="replace")[:1024])


def as_dict(status: Status) -> dict[str, Any]:
    """The Status as a plain value."""
    result: dict[str, Any] = msgspec.to_builtins(status)
    return result
