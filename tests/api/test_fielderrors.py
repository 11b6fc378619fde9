from typing import Any

import pytest

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.api.quantity import Quantity

F = "spec.x"


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (fielderrors.required(F), "FieldValueRequired", "Required value"),
        (fielderrors.required(F, "name it"), "FieldValueRequired", "Required value: name it"),
        (fielderrors.invalid(F, "a b", "no spaces"), "FieldValueInvalid", 'Invalid value: "a b": no spaces'),
        (fielderrors.invalid(F, 3, ""), "FieldValueInvalid", "Invalid value: 3"),
        (fielderrors.type_invalid(F, [1], "not so"), "FieldValueTypeInvalid", "Invalid value: [1]: not so"),
        (fielderrors.duplicate(F, "a"), "FieldValueDuplicate", 'Duplicate value: "a"'),
        (fielderrors.forbidden(F, "not here"), "FieldValueForbidden", "Forbidden: not here"),
        (fielderrors.not_found(F, "a"), "FieldValueNotFound", 'Not found: "a"'),
        (
            fielderrors.not_supported(F, "gpu", ("cpu", "memory")),
            "FieldValueNotSupported",
            'Unsupported value: "gpu": supported values: "cpu", "memory"',
        ),
        (fielderrors.not_supported(F, "gpu", ()), "FieldValueNotSupported", 'Unsupported value: "gpu"'),
        (fielderrors.too_long(F, 63), "FieldValueTooLong", "Too long: may not be more than 63 bytes"),
        (fielderrors.too_many(F, 3, 2), "FieldValueTooMany", "Too many: 3: must have at most 2 items"),
    ],
)
def test_findings(error: FieldError, reason: str, message: str) -> None:
    """Reasons and words are those that kubectl users know."""
    assert error == FieldError(F, reason, message)
    assert str(error) == f"{F}: {message}"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (Quantity.parse("1024Mi"), '"1Gi"'), (True, "true"), ({"a": 1}, '{"a":1}'), ('"', '"\\""')],
)
def test_quoted_values(value: Any, text: str) -> None:
    assert fielderrors.quoted(value) == text
