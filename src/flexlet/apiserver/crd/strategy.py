"""The rules of custom resources: one version of one definition.

Everything that the definition says is compiled before; an object only meets finished nodes, paths and rules. What
must stay true: an object that was read by `read` and passed `validate` is stored as it is served, so that its
bytes need no second look until the definition changes (`from_storage`). Follows ``registry/customresource``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import fielderrors, gotext, names
from flexlet.api.fielderrors import FieldError
from flexlet.api.gonumbers import tamed
from flexlet.apiserver.contract.kind import Object, Strategy, UpdateStrategy
from flexlet.apiserver.crd import embedded, listtypes, objectmeta, shaping, validate
from flexlet.apiserver.crd.cel.rules import Rules
from flexlet.apiserver.crd.columns import Columns
from flexlet.apiserver.crd.findings import NOWHERE
from flexlet.apiserver.crd.jsonpath import Path
from flexlet.apiserver.crd.node import EMPTY, Node
from flexlet.apiserver.crd.ratchet import NOTHING, same
from flexlet.apiserver.crd.scale import ScalePaths
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.crd.kind import without_domain_rule

BLOCKING: Final = frozenset(
    {
        fielderrors.NOT_SUPPORTED,
        fielderrors.REQUIRED,
        fielderrors.TOO_LONG,
        fielderrors.TOO_MANY,
        fielderrors.TYPE_INVALID,
    }
)
UNCHECKED: Final = FieldError(
    NOWHERE,
    fielderrors.INVALID,
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation",
)
_BIG: Final = re.compile(rb"\d{19}")


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """What a definition says about one of its versions, ready for use."""

    group: str
    name: str
    kind: str
    namespaced: bool
    node: Node
    family: Mapping[str, Node]
    """The schemas of all versions: stored objects may be of any of them."""
    stored_as: str
    status: bool
    scale: ScalePaths | None
    columns: Columns
    selectable: tuple[tuple[str, Path], ...]
    schema: Object
    """The schema as the definition has it."""
    rules: Rules | None

    @property
    def api_version(self) -> str:
        """``example.com/v1``."""
        return f"{self.group}/{self.name}"


class CustomStrategy(Strategy):
    """The main path of a custom resource."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.columns = version.columns.definitions
        self.scale = version.scale
        self.openapi_schema = version.schema
        self.cells = version.columns.cells  # type: ignore[method-assign]

    def read(self, obj: Object, *, checked: bool) -> list[str]:
        """Prune what the schema does not know; the complaints of strict reading, or Unreadable."""
        if _BIG.search(msgspec.json.encode(obj)):
            tamed(obj)
        unknown = objectmeta.settle(obj, checked=checked)
        group, _, name = (obj.get("apiVersion") or "").rpartition("/")
        if (group, obj.get("kind")) == (self.version.group, self.version.kind):
            node = self.version.family.get(name, EMPTY)
            unknown += shaping.prune(obj, node)
            shaping.drop_nulls(obj, node)
            unknown += objectmeta.settle_embedded(obj, node, checked=checked)
        return [f"unknown field {gotext.quote(path)}" for path in unknown] if checked else []

    def default(self, obj: Object) -> None:
        """Fill in the defaults of an object that was read."""
        if obj["apiVersion"] == self.version.api_version and obj["kind"] == self.version.kind:
            shaping.fill(obj, self.version.node)

    def prepare_create(self, obj: Object) -> None:
        """Status has its own path, if the definition gave it one; generations start at 1."""
        if self.version.status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Keep the status, and count every change outside of metadata."""
        if self.version.status:
            obj.pop("status", None)
            if "status" in old:
                obj["status"] = old["status"]
        if not _same_content(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, obj: Object) -> list[FieldError]:
        """The kind, metadata, values, scale, embedded resources, lists, rules."""
        if errors := self._check_type(obj):
            return errors
        node, scale = self.version.node, self.version.scale
        errors = metadata.validate(obj, names.dns1123_subdomain, namespaced=self.version.namespaced)
        errors = without_domain_rule(errors) + validate.check(node, obj)
        if scale is not None:
            errors += scale.check_spec(obj) + scale.check_status(obj)
        errors += embedded.check(obj, node) + listtypes.check(obj, node)
        return errors + self.check_rules(errors, obj, None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The same of a change: what did not change is not held against it."""
        if errors := self._check_type(obj):
            return errors
        node, scale = self.version.node, self.version.scale
        errors = without_domain_rule(metadata.validate_update(obj, old)) + validate.check(node, obj, old)
        if scale is not None:
            errors += scale.check_spec(obj) + scale.check_status(obj)
        errors += embedded.check(obj, node) + changed_lists(node, obj, old)
        return errors + self.check_rules(errors, obj, old)

    def check_rules(self, errors: list[FieldError], obj: Object, old: Object | None) -> list[FieldError]:
        """What the definition's own rules find; they need an object that is right otherwise."""
        if self.version.rules is None:
            return []
        if any(error.reason in BLOCKING for error in errors):
            return [UNCHECKED]
        return self.version.rules.check(obj, old).errors

    def warnings(self, obj: Object) -> list[str]:
        """Finalizers that somebody else may use as well."""
        return _finalizer_warnings(obj["metadata"].get("finalizers") or [], [])

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """The same of new ones; and rules that are broken where nothing changed."""
        now, before = (which["metadata"].get("finalizers") or [] for which in (obj, old))
        found = _finalizer_warnings(now, before)
        return found if self.version.rules is None else found + self.version.rules.check(obj, old).warnings

    def fields(self, obj: Object) -> Mapping[str, str]:
        """The fields the definition lists; empty where there is nothing."""
        return {name: _selected(path, obj) for name, path in self.version.selectable}

    def to_storage(self, obj: Object) -> Object:
        """The object in the version that is stored."""
        node = self.version.family.get(self.version.stored_as, EMPTY)
        stored = {**obj, "apiVersion": f"{self.version.group}/{self.version.stored_as}"}
        if node is not self.version.node:
            shaping.prune(stored, node)
            shaping.drop_nulls(stored, node)
        return stored

    def from_storage(self, obj: Object) -> Object:
        """A stored object under the definition of today: pruned and defaulted as the version it was stored in."""
        node = self.version.family.get(obj["apiVersion"].rpartition("/")[2], EMPTY)
        shaping.prune(obj, node)
        shaping.drop_nulls(obj, node)
        objectmeta.mend_embedded(obj, node)
        shaping.fill(obj, node)
        obj["apiVersion"] = self.version.api_version
        if node is not self.version.node:
            shaping.prune(obj, self.version.node)
            shaping.drop_nulls(obj, self.version.node)
        return obj

    def _check_type(self, obj: Object) -> list[FieldError]:
        wanted = {"kind": self.version.kind, "apiVersion": self.version.api_version}
        return [
            fielderrors.invalid(field, obj.get(field, ""), f"must be {value}")
            for field, value in wanted.items()
            if obj.get(field) != value
        ]


class CustomStatusStrategy(UpdateStrategy):
    """``/status``: nothing but the status changes, not even labels."""

    def __init__(self, main: CustomStrategy) -> None:
        self._main = main
        self._version = main.version

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Everything else as it was."""
        given = {"status": obj["status"]} if "status" in obj else {}
        rest = {key: value for key, value in old.items() if key != "status"}
        obj.clear()
        obj |= {**rest, "metadata": dict(old["metadata"]), **given}

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The status by its part of the schema; lists and rules of the whole object."""
        node = self._version.node
        errors = without_domain_rule(metadata.validate_update(obj, old))
        below = node.properties.get("status")
        if below is not None and "status" in obj:
            errors += validate.check(below, obj["status"], old.get("status", NOTHING), prefix="status")
        if self._version.scale is not None:
            errors += self._version.scale.check_status(obj)
        errors += changed_lists(node, obj, old)
        return errors + self._main.check_rules(errors, obj, old)


def changed_lists(node: Node, obj: Object, old: Object) -> list[FieldError]:
    """What is there twice now and was not before."""
    found = listtypes.check(obj, node)
    return found if found and not listtypes.check(old, node) else []


def _same_content(obj: Object, old: Object) -> bool:
    now, before = ({key: item for key, item in which.items() if key != "metadata"} for which in (obj, old))
    return same(now, before)


def _finalizer_warnings(now: list[str], before: list[str]) -> list[str]:
    return [warning for name in sorted(set(now) - set(before)) for warning in _finalizer_warning(name)]


def _finalizer_warning(name: str) -> list[str]:
    head = f"metadata.finalizers: {gotext.quote(name)}: "
    found = [head + complaint for complaint in names.qualified_name(name)]
    if "/" not in name and name not in metadata.STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        found.append(
            f"{head}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other "
            "finalizer writers"
        )
    return found


def _selected(path: Path, obj: Object) -> str:
    found: list[Any] = path(obj)
    return "" if not found or found[0] is None else gotext.sprint(found[0])
