"""What a LabelSelector object may look like, wherever one stands."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import FieldError, forbidden, invalid, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.metadata import validate_labels

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def validate_label_selector(selector: Object | None, path: str, errors: list[FieldError]) -> None:
    """Labels and expressions; no selector at all is fine."""
    if not selector:
        return
    if labels := selector.get("matchLabels"):
        validate_labels(labels, f"{path}.matchLabels", errors)
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        _validate_expression(expression, f"{path}.matchExpressions[{i}]", errors)


def _validate_expression(expression: Object, path: str, errors: list[FieldError]) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    if operator in _WITH_VALUES:
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _WITHOUT_VALUES:
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", text))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    validate_label_name(expression.get("key") or "", f"{path}.key", errors)
    for i, value in enumerate(values):
        errors += [invalid(f"{path}.values[{i}]", value, text) for text in names.label_value(value)]


def validate_label_name(name: str, path: str, errors: list[FieldError]) -> None:
    """A label's key."""
    errors += [invalid(path, name, text) for text in names.label_key(name)]
