"""Field selectors: ``metadata.name=web,status.phase!=Running``.

Which fields a kind offers is the kind's business (``renamed`` lets it refuse or translate); here every field is
text. A backslash keeps ``,``, ``=`` and itself in a value.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from flexlet.api.selectors.faults import SelectorFault


class FieldRequirement(msgspec.Struct, frozen=True):
    """One field that must, or must not, have a value."""

    field: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{'!=' if self.negated else '='}{escaped}"


class FieldSelector(msgspec.Struct, frozen=True):
    """Conditions on fields that must all hold; none at all matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields are selected; a missing one counts as empty."""
        return all((fields.get(term.field, "") == term.value) is not term.negated for term in self.requirements)

    @property
    def empty(self) -> bool:
        """Whether everything is selected."""
        return not self.requirements

    def exact(self, field: str) -> str | None:
        """The one value a field must have, if the selector says so (``metadata.name=web``)."""
        return next((term.value for term in self.requirements if term.field == field and not term.negated), None)

    def renamed(self, rename: Callable[[str, str], tuple[str, str]]) -> "FieldSelector":
        """The selector with every field and value passed through `rename`; both empty drops the term."""
        terms = ((*rename(term.field, term.value), term.negated) for term in self.requirements)
        return FieldSelector(tuple(FieldRequirement(*term) for term in terms if term[0] or term[1]))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_TERM: Final = re.compile(r"(?:\\.|[^,\\]|\\$)+", re.DOTALL)
_SPLIT: Final = re.compile(r"(?P<field>.*?)(?P<operator>!=|==|=)(?P<value>.*)", re.DOTALL)
_UNESCAPE: Final = re.compile(r"\\(.?)|([,=])", re.DOTALL)


def parse_fields(text: str) -> FieldSelector:
    """Read a field selector; SelectorFault in upstream's words if it cannot be read."""
    return FieldSelector(tuple(_field_term(term, text) for term in sorted(_TERM.findall(text))))


def _field_term(term: str, whole: str) -> FieldRequirement:
    match = _SPLIT.fullmatch(term)
    if match is None:
        raise SelectorFault(f"invalid selector: '{whole}'; can't understand '{term}'")
    value = _UNESCAPE.sub(_unescaped, match["value"])
    return FieldRequirement(match["field"], value, negated=match["operator"] == "!=")


def _unescaped(match: re.Match[str]) -> str:
    escaped, bare = match.groups()
    if bare:
        # Upstream prints the character's number.
        raise SelectorFault(f"invalid field selector: unescaped character in value: {ord(bare)}")
    if escaped not in {"\\", ",", "="}:
        raise SelectorFault(f"invalid field selector: invalid escape sequence: {match[0]}")
    return str(escaped)
