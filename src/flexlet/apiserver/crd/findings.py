"""What value validation finds, in the words of upstream's OpenAPI validator, and those findings as field errors.

A finding keeps the validator's own text (``spec.a in body should be ...``): findings with the same text count
once, and alternatives are chosen by how much of them held (`Result.held`). Follows kube-openapi's
``validation/{errors,validate/result.go}``.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.api.fielderrors import (
    DUPLICATE,
    INVALID,
    NOT_SUPPORTED,
    TYPE_INVALID,
    FieldError,
    required,
    too_long,
    too_many,
)

NOWHERE: Final = "<nil>"
"""How Go prints a path that is none."""
_PLAIN: Final = ""


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong: where, the validator's text, what kind of thing, the value, and what is allowed."""

    name: str
    text: str
    reason: str = INVALID
    value: Any = ""
    allowed: Any = None


class Result:
    """What one schema says about one value."""

    __slots__ = ("findings", "held")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.held = 0
        """How many checks were made and passed, more or less: the measure of the best alternative."""

    def add(self, finding: Finding) -> None:
        """Note a finding, once."""
        if all(finding.text != known.text for known in self.findings):
            self.findings.append(finding)

    def merge(self, other: "Result") -> None:
        """Take over what another schema said."""
        self.held += other.held
        for finding in other.findings:
            self.add(finding)


def remark(text: str) -> Finding:
    """A finding without a place: about alternatives, or the range of a number."""
    return Finding(NOWHERE, text)


def field_errors(findings: Iterable[Finding], prefix: str) -> list[FieldError]:
    """Findings as a client sees them; `prefix` is where the checked value stands in its object."""
    return [_field_error(finding, prefix) for finding in findings]


def _field_error(finding: Finding, prefix: str) -> FieldError:
    field = _place(finding.name, prefix)
    if finding.reason == "required":
        return required(field)
    if finding.reason == "length":
        return too_long(field, finding.allowed)
    if finding.reason == "count":
        return too_many(field, finding.value, finding.allowed)
    if finding.reason == NOT_SUPPORTED:
        listed = ", ".join(f'"{_word(item)}"' for item in finding.allowed)
        return FieldError(
            field, NOT_SUPPORTED, f"Unsupported value: {shown(finding.value)}: supported values: {listed}"
        )
    return _invalid(field, finding.reason, finding.value, finding.text)


def _place(name: str, prefix: str) -> str:
    inner = "" if name in {NOWHERE, "."} else name.removeprefix(".")
    return ".".join(part for part in (prefix, inner) if part) or NOWHERE


def _word(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value that is wrong, shown as Go shows a custom resource's values."""
    return _invalid(field, INVALID, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value of the wrong type."""
    return _invalid(field, TYPE_INVALID, value, detail)


def duplicate(field: str, value: Any) -> FieldError:
    """A value that is there twice."""
    return FieldError(field, DUPLICATE, f"Duplicate value: {shown(value)}")


def _invalid(field: str, reason: str, value: Any, detail: str) -> FieldError:
    return FieldError(field, reason, f"Invalid value: {shown(value)}: {detail}")


def shown(value: Any) -> str:
    """A value as upstream's field errors print it: numbers as Go does, texts quoted, the rest as JSON."""
    if isinstance(value, str):
        return gotext.quote(value)
    return _json(value) if isinstance(value, dict | list) or value is None else gotext.sprint(value)


def _json(value: Any) -> str:
    """JSON as Go writes it: keys in order, numbers in its own way."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{gotext.json_text(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    return gotext.json_number(value) if isinstance(value, float) else gotext.json_text(value)
