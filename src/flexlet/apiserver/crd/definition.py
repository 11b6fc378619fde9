"""From a stored CustomResourceDefinition to the kinds it defines.

Each served version is a kind of its own; all share one bucket, which holds the storage version. Objects of a
definition that never changed are stored exactly as its storage version serves them; after a change every object is
looked at again when it is read, because the schema of today may prune and default otherwise.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import apiversions
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.crd import jsonpath
from flexlet.apiserver.crd.cel.rules import Rules
from flexlet.apiserver.crd.columns import Columns
from flexlet.apiserver.crd.node import EMPTY, Node, compiled
from flexlet.apiserver.crd.scale import ScalePaths
from flexlet.apiserver.crd.strategy import CustomStatusStrategy, CustomStrategy, Version
from flexlet.apiserver.kinds.conditions import is_true

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")


class Definition(msgspec.Struct, frozen=True):
    """The kinds of one definition."""

    bucket: str
    served: tuple[Kind, ...]
    storage: Kind
    """The kind of the storage version, served or not."""


def define(crd: Object) -> Definition:
    """Compile a definition whose names have been accepted."""
    spec = crd["spec"]
    schemas = {version["name"]: _schema(version) for version in spec["versions"]}
    family = {name: compiled(schema) for name, schema in schemas.items()}
    stored_as = next(version["name"] for version in spec["versions"] if version.get("storage"))
    kinds = {version["name"]: _kind(crd, version, schemas, family, stored_as) for version in spec["versions"]}
    ordered = sorted((version for version in spec["versions"] if version.get("served")), key=_preference)
    served = tuple(kinds[version["name"]] for version in ordered)
    return Definition(kinds[stored_as].storage_bucket, served, kinds[stored_as])


def _preference(version: Object) -> Any:
    return apiversions.priority(version["name"])


def _schema(version: Object) -> Object:
    schema: Object | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return {"x-kubernetes-preserve-unknown-fields": True} if schema is None else schema


def _kind(
    crd: Object, version: Object, schemas: Mapping[str, Object], family: Mapping[str, Node], stored_as: str
) -> Kind:
    spec, names, name = crd["spec"], crd["status"]["acceptedNames"], version["name"]
    given = version.get("subresources") or {}
    strategy = CustomStrategy(_version(crd, version, schemas, family, stored_as))
    return Kind(
        group=spec["group"],
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        singular=names["singular"],
        list_kind=names["listKind"],
        namespaced=spec["scope"] == "Namespaced",
        strategy=strategy,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=VERBS,
        subresources=_subresources(given, strategy),
        unconditional_update=False,
        storage_version=name == stored_as and crd["metadata"].get("generation") == 1,
        stored_as=stored_as,
        custom=True,
        terminating=is_true(crd, "Terminating"),
        deprecation=_deprecation(spec, version),
    )


def _version(
    crd: Object, version: Object, schemas: Mapping[str, Object], family: Mapping[str, Node], stored_as: str
) -> Version:
    spec, name = crd["spec"], version["name"]
    given = version.get("subresources") or {}
    node = family.get(name, EMPTY)
    return Version(
        group=spec["group"],
        name=name,
        kind=crd["status"]["acceptedNames"]["kind"],
        namespaced=spec["scope"] == "Namespaced",
        node=node,
        family=family,
        stored_as=stored_as,
        status=given.get("status") is not None,
        scale=msgspec.convert(given["scale"], ScalePaths) if given.get("scale") is not None else None,
        columns=Columns(version.get("additionalPrinterColumns") or ()),
        selectable=_selectable(version),
        schema=schemas[name],
        rules=Rules(node) if node.has_rules else None,
    )


def _selectable(version: Object) -> tuple[tuple[str, jsonpath.Path], ...]:
    paths = [field["jsonPath"] for field in version.get("selectableFields") or ()]
    return tuple((path.removeprefix("."), jsonpath.parse(path)) for path in paths)


def _subresources(given: Object, strategy: CustomStrategy) -> tuple[Subresource, ...]:
    found = []
    if given.get("status") is not None:
        update = CustomStatusStrategy(strategy)
        found.append(Subresource(name="status", verbs=_SUBRESOURCE_VERBS, update=update))
    if given.get("scale") is not None:
        found.append(
            Subresource(name="scale", verbs=_SUBRESOURCE_VERBS, group="autoscaling", version="v1", kind="Scale")
        )
    return tuple(found)


def _deprecation(spec: Object, version: Object) -> str:
    """What users of a deprecated version are told."""
    if not version.get("deprecated"):
        return ""
    own = version.get("deprecationWarning")
    if own is not None:
        return str(own)
    text = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    better = sorted(
        (other for other in spec["versions"] if other.get("served") and not other.get("deprecated")),
        key=_preference,
    )
    if not better or not _preference(better[0]) < _preference(version):
        return text
    return f"{text}; use {spec['group']}/{better[0]['name']} {spec['names']['kind']}"
