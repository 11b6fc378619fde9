"""Selectors applied to stored rows.

Names and namespaces are read off the key; labels and other fields need the object, so what was read once is kept
for a while by revision: a thousand watchers of one pod decode it once.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api import selectors, status
from flexlet.api.selectors import FieldSelector, LabelSelector, SelectorFault
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.rest import finished
from flexlet.apiserver.store.rows import Row

NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"
KEPT: Final = 16384


Term = tuple[str, str, bool]
"""A field, the value asked for, and whether it must not have it."""


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_labels: Final = msgspec.json.Decoder(_Labelled)


class Facts:
    """Labels and selectable fields by revision; forgotten all at once when there are too many."""

    def __init__(self) -> None:
        self._labels: dict[int, Mapping[str, str]] = {}
        self._fields: dict[tuple[str, str, int], Mapping[str, str]] = {}

    def labels(self, row: Row) -> Mapping[str, str]:
        """The labels of a row."""
        found = self._labels.get(row.revision)
        if found is None:
            if len(self._labels) >= KEPT:
                self._labels.clear()
            found = self._labels[row.revision] = _labels.decode(row.value).metadata.labels or {}
        return found

    def fields(self, kind: Kind, row: Row) -> Mapping[str, str]:
        """The selectable fields of a row besides its name and namespace."""
        place = (kind.group, kind.version, row.revision)
        found = self._fields.get(place)
        if found is None:
            if len(self._fields) >= KEPT:
                self._fields.clear()
            found = self._fields[place] = kind.strategy.fields(finished.decode(kind, row.value))
        return found


class Selection:
    """What a request selects; `everything` means there is nothing to test."""

    def __init__(self, kind: Kind, facts: Facts, labels: LabelSelector, fields: FieldSelector) -> None:
        self._kind = kind
        self._facts = facts
        self._labels = labels
        terms = [(term.field, term.value, term.negated) for term in fields.requirements]
        self._by_key = [term for term in terms if term[0] in {NAME, NAMESPACE}]
        self._by_object = [term for term in terms if term[0] not in {NAME, NAMESPACE}]
        self._by_label = not labels.empty
        self.everything = labels.empty and fields.empty

    def matches(self, row: Row) -> bool:
        """Whether the row is selected.

        Asked once per watcher and event, so: what costs least first, and nothing that was not asked for.
        """
        if self._by_key:
            namespace, _, name = row.key.rpartition("/")
            if not _hold(self._by_key, {NAME: name, NAMESPACE: namespace}):
                return False
        if self._by_object and not _hold(self._by_object, self._facts.fields(self._kind, row)):
            return False
        return not self._by_label or self._labels.matches(self._facts.labels(row))


def _hold(terms: list[Term], fields: Mapping[str, str]) -> bool:
    for field, value, negated in terms:  # noqa: SIM110  a generator would take longer than the test
        if (fields.get(field, "") == value) is negated:
            return False
    return True


def select(kind: Kind, facts: Facts, label_selector: str, field_selector: str) -> Selection:
    """Read both selectors; one that cannot be read, or asks for an unknown field, is a 400."""
    try:
        labels = selectors.parse_labels(label_selector)
        fields = selectors.parse_fields(field_selector)
    except SelectorFault as fault:
        raise status.bad_request(fault.message) from None
    for term in fields.requirements:
        _require_known(kind, term.field)
    return Selection(kind, facts, labels, fields)


def _require_known(kind: Kind, field: str) -> None:
    own = kind.strategy.fields({"metadata": {}})
    if field == NAME or field in own or (field == NAMESPACE and (kind.namespaced or not (own or kind.custom))):
        return
    if own or kind.custom:
        raise status.bad_request(f"field label not supported: {field}")
    raise status.bad_request(
        f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
