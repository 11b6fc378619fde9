"""Counts, and counts that may be percentages, as workloads and budgets use them."""

from typing import Any

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

NEGATIVE = "must be greater than or equal to 0"


def check_count(value: int | None, field: str) -> list[FieldError]:
    """A count is not negative; none at all is fine."""
    return [fielderrors.invalid(field, value, NEGATIVE)] if value is not None and value < 0 else []


def check_counts(obj: Object, names: tuple[str, ...], path: str) -> list[FieldError]:
    """Several fields of one object, all counts."""
    return [error for name in names for error in check_count(obj.get(name), f"{path}.{name}")]


def check_share(value: int | str, field: str) -> list[FieldError]:
    """A count or a percentage."""
    if isinstance(value, int):
        return check_count(value, field)
    return [fielderrors.invalid(field, value, complaint) for complaint in names.percent(value)]


def check_not_above_all(value: int | str, field: str) -> list[FieldError]:
    """A percentage is at most all of it."""
    percent = percentage(value)
    if percent is None or percent <= 100:
        return []
    return [fielderrors.invalid(field, value, "must not be greater than 100%")]


def percentage(value: int | str) -> int | None:
    """The number before the percent sign; None if it is not a percentage."""
    return None if isinstance(value, int) or names.percent(value) else int(value[:-1])


def is_nothing(value: int | str) -> bool:
    """Zero, or zero percent, or text that is no number at all."""
    number = percentage(value)
    if number is None:
        number = value if isinstance(value, int) else _leading_number(value)
    return number == 0


def _leading_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def check_not_decremented(value: Any, old: Any, field: str) -> list[FieldError]:
    """A counter never goes back, and never goes away."""
    if old is None or (value is not None and value >= old):
        return []
    return [fielderrors.invalid(field, value or 0, "cannot be decremented")]
