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
KEPT: Final = 4096


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_labels: Final = msgspec.json.Decoder(_Labelled)


class Facts:
    """Labels and selectable fields by revision; forgotten all at once when there are too many."""

    def __init__(self) -> None:
        self._labels: dict[int, Mapping[str, str]] = {}
        self._fields: dict[tuple[str, int], Mapping[str, str]] = {}

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
        place = (kind.api_version, row.revision)
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
        self._fields = fields
        self._by_key = all(term.field in {NAME, NAMESPACE} for term in fields.requirements)
        self.everything = labels.empty and fields.empty

    def matches(self, row: Row) -> bool:
        """Whether the row is selected."""
        if not self._fields.empty and not self._fields.matches(self._values(row)):
            return False
        return self._labels.empty or self._labels.matches(self._facts.labels(row))

    def _values(self, row: Row) -> Mapping[str, str]:
        namespace, _, name = row.key.rpartition("/")
        by_key = {NAME: name, NAMESPACE: namespace}
        return by_key if self._by_key else {**by_key, **self._facts.fields(self._kind, row)}


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
