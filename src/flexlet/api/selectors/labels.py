"""Conditions on labels: what a selector is once it has been read.

`query` reads the text form; the object form is read here.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from flexlet.api import names
from flexlet.api.selectors.faults import SelectorFault

_EQUAL: Final = ("=", "==", "in")
_SYMBOL: Final = {"in": " in ", "notin": " notin ", "gt": ">", "lt": "<"}
_FROM_OBJECT: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label; `operator` is one of ``= == != in notin gt lt exists !``."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet this condition."""
        value = labels.get(self.key)
        if self.operator in _EQUAL:
            return value is not None and value in self.values
        if self.operator in {"notin", "!="}:
            return value is None or value not in self.values
        if self.operator in {"exists", "!"}:
            return (value is not None) is (self.operator == "exists")
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        actual, bound = _int64(value), _int64(self.values[0])
        if actual is None or bound is None:
            return False
        return actual > bound if self.operator == "gt" else actual < bound

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        shown = f"({values})" if self.operator in {"in", "notin"} else values
        return f"{self.key}{_SYMBOL.get(self.operator, self.operator)}{shown}"


class LabelSelector(msgspec.Struct, frozen=True):
    """Conditions on labels that must all hold, sorted by key; none at all matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels are selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


class _Nothing(LabelSelector, frozen=True):
    """Selects nothing: what a missing LabelSelector object means."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        del labels
        return False

    @property
    def empty(self) -> bool:
        return False


EVERYTHING: Final = LabelSelector()
NOTHING: Final[LabelSelector] = _Nothing()


def from_labels(labels: Mapping[str, str]) -> LabelSelector:
    """Selects what carries all of these labels; they are not validated."""
    return conjunction(Requirement(key, "=", (value,)) for key, value in labels.items())


def from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Compile a LabelSelector object; None selects nothing, ``{}`` everything."""
    if selector is None:
        return NOTHING
    exact = [requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    return conjunction(exact + [_expression(expression) for expression in selector.get("matchExpressions") or ()])


def _expression(expression: Mapping[str, Any]) -> Requirement:
    operator = expression.get("operator", "")
    if operator not in _FROM_OBJECT:
        raise SelectorFault(f'"{operator}" is not a valid label selector operator')
    return requirement(expression.get("key", ""), _FROM_OBJECT[operator], tuple(expression.get("values") or ()))


def conjunction(requirements: Iterable[Requirement]) -> LabelSelector:
    """All of the requirements together."""
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def requirement(key: str, operator: str, values: tuple[str, ...] = ()) -> Requirement:
    """A validated requirement; SelectorFault lists everything wrong with it."""
    complaints = [f'key: Invalid value: "{key}": {"; ".join(bad)}'] if (bad := names.label_key(key)) else []
    complaints += _arity(operator, values) + _whole_numbers(operator, values)
    for index, value in enumerate(values):
        if bad := names.label_value(value):
            complaints.append(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(bad)}')
    if complaints:
        raise SelectorFault(complaints[0] if len(complaints) == 1 else f"[{', '.join(complaints)}]")
    return Requirement(key, operator, values)


def _arity(operator: str, values: tuple[str, ...]) -> list[str]:
    listed = msgspec.json.encode(values).decode() if values else "null"
    if operator in {"in", "notin"}:
        text = "" if values else "for 'in', 'notin' operators, values set can't be empty"
    elif operator in {"exists", "!"}:
        text = "values set must be empty for exists and does not exist" if values else ""
    elif operator in {"gt", "lt"}:
        text = "" if len(values) == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"
    else:
        text = "" if len(values) == 1 else "exact-match compatibility requires one single value"
    return [f"values: Invalid value: {listed}: {text}"] if text else []


def _whole_numbers(operator: str, values: tuple[str, ...]) -> list[str]:
    if operator not in {"gt", "lt"}:
        return []
    text = "for 'Gt', 'Lt' operators, the value must be an integer"
    wrong = (index for index, value in enumerate(values) if _int64(value) is None)
    return [f'values[{index}]: Invalid value: "{values[index]}": {text}' for index in wrong]


def _int64(text: str) -> int | None:
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
