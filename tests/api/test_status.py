from typing import Any

import msgspec
import pytest

from flexlet.api import fielderrors, status
from flexlet.api.status import ApiError, Status, StatusCause, StatusDetails
from flexlet.errors import FlexletError


def sent(error: ApiError) -> dict[str, Any]:
    answer: dict[str, Any] = msgspec.json.decode(status.encode(error.status))
    return answer


def wire(code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """A failed Status as it travels."""
    parts = {"reason": reason, "message": message, "details": details, "code": code}
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return head | {key: value for key, value in parts.items() if value is not None}


def test_not_found() -> None:
    error = status.not_found("pods", "", "web")
    assert isinstance(error, status.NotFound)
    assert sent(error) == wire(404, "NotFound", 'pods "web" not found', {"name": "web", "kind": "pods"})


def test_group_in_messages() -> None:
    error = status.already_exists("deployments", "apps", "web")
    details = {"name": "web", "group": "apps", "kind": "deployments"}
    assert isinstance(error, status.AlreadyExists)
    assert sent(error) == wire(409, "AlreadyExists", 'deployments.apps "web" already exists', details)


def test_conflict() -> None:
    error = status.conflict("pods", "", "web", "it changed")
    message = 'Operation cannot be fulfilled on pods "web": it changed'
    assert type(error) is status.Conflict
    assert sent(error) == wire(409, "Conflict", message, {"name": "web", "kind": "pods"})


def test_forbidden_names_the_object_or_the_collection() -> None:
    cause = StatusCause(reason="Why", message="because", field="spec")
    one = status.forbidden("pods", "", "web", "quota", [cause])
    all_of_them = status.forbidden("pods", "", "", "no list")
    details = {"name": "web", "kind": "pods", "causes": [{"reason": "Why", "message": "because", "field": "spec"}]}
    assert sent(one) == wire(403, "Forbidden", 'pods "web" is forbidden: quota', details)
    assert sent(all_of_them) == wire(403, "Forbidden", "pods is forbidden: no list", {"kind": "pods"})


def test_invalid_lists_every_cause_and_prints_each_text_once() -> None:
    """Causes repeat as often as they were found; the message does not."""
    twice = fielderrors.required("spec.x")
    error = status.invalid("Pod", "", "web", [twice, twice, fielderrors.forbidden("spec.y", "no")])
    causes = [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.x"},
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.x"},
        {"reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "spec.y"},
    ]
    message = 'Pod "web" is invalid: [spec.x: Required value, spec.y: Forbidden: no]'
    assert isinstance(error, status.Invalid)
    assert sent(error) == wire(422, "Invalid", message, {"name": "web", "kind": "Pod", "causes": causes})


def test_invalid_with_one_cause() -> None:
    error = status.invalid("Pod", "", "web", [fielderrors.required("spec.x")])
    assert str(error) == 'Pod "web" is invalid: spec.x: Required value'


def test_bad_request() -> None:
    error = status.bad_request("no JSON")
    assert isinstance(error, status.BadRequest)
    assert sent(error) == wire(400, "BadRequest", "no JSON")


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", status.BadRequest),
        (401, "Unauthorized", status.Unauthorized),
        (403, "Forbidden", status.Forbidden),
        (404, "NotFound", status.NotFound),
        (409, "Conflict", status.Conflict),
        (409, "AlreadyExists", status.AlreadyExists),
        (410, "Expired", status.Gone),
        (422, "Invalid", status.Invalid),
        (429, "TooManyRequests", status.TooManyRequests),
        (503, "ServiceUnavailable", ApiError),
    ],
)
def test_the_class_follows_the_code(code: int, reason: str, kind: type[ApiError]) -> None:
    """Who catches an error by its class catches the same whether it was made here or received."""
    error = status.failure(code, reason, "text")
    assert type(error) is kind
    assert isinstance(error, FlexletError)
    assert (error.code, error.reason, str(error)) == (code, reason, "text")


def test_parts_left_empty_are_absent() -> None:
    error = status.failure(500)
    assert sent(error) == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 500}
    assert (str(error), error.reason) == ("HTTP 500", "")


def test_a_status_without_code_counts_as_500() -> None:
    assert status.error_of(Status()).code == 500


def test_success() -> None:
    plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    assert status.as_dict(status.success()) == plain
    details = StatusDetails(name="web", kind="pods", uid="u")
    expected = plain | {"details": {"name": "web", "kind": "pods", "uid": "u"}, "code": 201}
    assert status.as_dict(status.success(details, 201)) == expected


def test_received_statuses() -> None:
    """What a server sent is read back whole; a body that is no Status becomes the message of one."""
    error = status.not_found("pods", "", "web")
    assert status.decode(status.encode(error.status), 404) == error.status
    assert status.decode(b"upstream is down", 502) == Status(code=502, message="upstream is down")
    assert status.decode(b"\xff" * 5000, 502) == Status(code=502, message="\ufffd" * 1024)


def test_a_thousand_causes_are_told_and_the_rest_is_counted() -> None:
    errors = [fielderrors.required(f"spec.items[{at}]") for at in range(1003)]
    found = status.as_dict(status.invalid("Pod", "", "web", errors).status)
    assert [cause["field"] for cause in found["details"]["causes"]] == [f"spec.items[{at}]" for at in range(1000)]
    assert found["message"].startswith(
        'Pod "web" is invalid: [spec.items[0]: Required value, spec.items[1]: Required'
    )
    assert found["message"].endswith("spec.items[999]: Required value, and 3 more]")


def test_invalid_tells_as_many_errors_as_a_mebibyte_holds() -> None:
    """The first is told whatever its size."""
    long = fielderrors.invalid("spec.x", "v" * status.MAX_CAUSES_BYTES, "no")
    error = status.invalid("Pod", "", "web", [long, long, fielderrors.required("spec.y")])
    assert error.status.details == StatusDetails(
        name="web", kind="Pod", causes=(StatusCause(reason=long.reason, message=long.message, field="spec.x"),)
    )
    assert error.status.message == f'Pod "web" is invalid: [{long}, and 2 more]'
