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
        by_key = [term for term in fields.requirements if term.field in {NAME, NAMESPACE}]
        self._by_key = FieldSelector(tuple(by_key))
        self._by_object = FieldSelector(tuple(term for term in fields.requirements if term not in by_key))
        self.everything = labels.empty and fields.empty

    def matches(self, row: Row) -> bool:
        """Whether the row is selected; what costs least is asked first, and nothing that was not asked for."""
        if not self._by_key.empty:
            namespace, _, name = row.key.rpartition("/")
            if not self._by_key.matches({NAME: name, NAMESPACE: namespace}):
                return False
        if not self._by_object.empty and not self._by_object.matches(self._facts.fields(self._kind, row)):
            return False
        return self._labels.empty or self._labels.matches(self._facts.labels(row))


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
