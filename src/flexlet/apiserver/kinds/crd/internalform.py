"""Upstream's internal form of a definition, in which errors speak.

What all versions have in common (schema, subresources, columns, selectable fields) is kept at the top in the
internal form, so an error in the schema of a single-version definition is found at ``spec.validation``.
"""

from typing import Any, Final

import msgspec

from flexlet.apiserver.contract.kind import Object

_SHARED: Final = (
    ("subresources", "subresources"),
    ("schema", "validation"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)
_VERSION_FIELDS: Final = (
    *(("Name", "name", ""), ("Served", "served", False), ("Storage", "storage", False)),
    *(("Deprecated", "deprecated", False), ("DeprecationWarning", "deprecationWarning", None)),
    *(("Schema", "schema", None), ("Subresources", "subresources", None)),
    *(
        ("AdditionalPrinterColumns", "additionalPrinterColumns", None),
        ("SelectableFields", "selectableFields", None),
    ),
)


class InternalSpec(msgspec.Struct, frozen=True):
    """A spec's versions, and what they have in common."""

    versions: list[Object]
    shared: Object
    given: bool
    """Whether there is a list of versions at all."""

    def shown(self) -> Any:
        """The versions as error texts show them."""
        if not self.given:
            return None
        return [{go: version.get(name, empty) for go, name, empty in _VERSION_FIELDS} for version in self.versions]

    def part(self, index: int, name: str) -> Any:
        """A version's own or shared ``schema``, ``subresources`` ..."""
        return self.versions[index].get(name) or self.shared.get(dict(_SHARED)[name])


def internal(spec: Object) -> InternalSpec:
    """The internal form; the spec is not changed."""
    versions = [dict(version) for version in spec.get("versions") or ()]
    shared: Object = {}
    for key, name in _SHARED:
        values = [version.get(key) for version in versions]
        if values and all(value == values[0] for value in values):
            if values[0] is not None:
                shared[name] = values[0]
            for version in versions:
                version.pop(key, None)
    return InternalSpec(versions, shared, spec.get("versions") is not None)
