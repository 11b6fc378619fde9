"""The CustomResourceDefinition kind: spec and status have paths of their own."""

from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, shape
from flexlet.apiserver.kinds.conditions import is_true
from flexlet.apiserver.kinds.crd import formats, spec
from flexlet.apiserver.kinds.strategy import KindStrategy, StatusStrategy, count_generation, name_of

GROUP: Final = "apiextensions.k8s.io"
_DOMAIN_RULE: Final = "metadata.finalizers["


class CustomResourceDefinitionStrategy(KindStrategy):
    """The main path."""

    type_name = "apiextensions.v1.CustomResourceDefinition"
    namespaced = False

    def fill(self, obj: Object) -> None:
        """Names that follow from the kind, no conversion, and the version that is stored."""
        given = obj["spec"]["names"]
        kind = given.get("kind", "")
        if kind:
            given.setdefault("singular", kind.lower())
            given.setdefault("listKind", f"{kind}List")
        conversion = obj["spec"].setdefault("conversion", {"strategy": "None"})
        service = (conversion.get("webhook") or {}).get("clientConfig", {}).get("service")
        if service is not None:
            service.setdefault("port", 443)
        _remember_stored_version(obj, only_first=True)

    def prepare_create(self, obj: Object) -> None:
        """Nothing is accepted yet."""
        obj["status"] = shape.zero(f"{self.type_name}Status")
        obj["metadata"]["generation"] = 1
        _remember_stored_version(obj)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Status has its own path, but a new storage version is noted."""
        obj["status"] = dict(old.get("status", {}))
        count_generation(obj, old, changed=obj["spec"] != old["spec"])
        _remember_stored_version(obj)

    def validate(self, obj: Object) -> list[FieldError]:
        """Metadata, the name, spec and status."""
        errors = without_domain_rule(metadata.validate(obj, names.dns1123_subdomain, namespaced=False))
        return [*errors, *_check_own_name(obj), *self.check(obj), *_check_permissions(obj, None)]

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, spec and status, and what other parts of the server rely on."""
        errors = without_domain_rule(metadata.validate_update(obj, old))
        return [*errors, *_check_kept(obj, old), *self.check(obj), *_check_permissions(obj, old)]

    def check(self, obj: Object) -> list[FieldError]:
        """Spec, accepted names, stored versions."""
        return [*spec.check_spec(obj["spec"]), *_check_status(obj), *spec.check_stored_versions(obj)]

    def warnings(self, obj: Object) -> list[str]:
        """Formats that nothing checks."""
        return [f'unrecognized format "{name}"' for name in formats.unrecognized(obj)]

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Only new ones."""
        known = set(self.warnings(old))
        return [warning for warning in self.warnings(obj) if warning not in known]

    def cells(self, obj: Object, now: float) -> list[Any]:
        """When it was created, as a time: clients make an age of it."""
        del now
        return [name_of(obj), obj["metadata"].get("creationTimestamp")]


class CustomResourceDefinitionStatusStrategy(StatusStrategy):
    """``/status``: the way of the loops that establish and clean up."""

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata and accepted names."""
        return [*without_domain_rule(metadata.validate_update(obj, old)), *_check_status(obj)]


def without_domain_rule(errors: list[FieldError]) -> list[FieldError]:
    """Definitions are no built-in kind to upstream: their finalizers need no domain with a slash."""
    return [error for error in errors if not error.field.startswith(_DOMAIN_RULE)]


def _remember_stored_version(crd: Object, *, only_first: bool = False) -> None:
    stored = crd["status"].get("storedVersions") or []
    if only_first and stored:
        return
    versions = crd["spec"].get("versions") or ()
    storage = next((version.get("name", "") for version in versions if version.get("storage")), None)
    if storage is not None and storage not in stored:
        crd["status"]["storedVersions"] = [*stored, storage]


def _check_own_name(crd: Object) -> list[FieldError]:
    name = name_of(crd)
    if not name or name == f"{crd['spec']['names'].get('plural', '')}.{crd['spec'].get('group', '')}":
        return []
    return [fielderrors.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _check_status(crd: Object) -> list[FieldError]:
    return spec.check_names(crd["status"].get("acceptedNames", {}), "status.acceptedNames")


def _check_permissions(crd: Object, old: Object | None) -> list[FieldError]:
    return [*spec.check_approval(crd, old), *spec.check_preserve_unknown(crd, old)]


def _check_kept(crd: Object, old: Object) -> list[FieldError]:
    """Group and plural are for good, scope and kind once they are in use."""
    now, before = crd["spec"], old["spec"]
    pairs = [("group", now.get("group"), before.get("group"))]
    pairs.append(("names.plural", now["names"].get("plural"), before["names"].get("plural")))
    if is_true(old, "Established"):
        pairs.append(("scope", now.get("scope"), before.get("scope")))
        pairs.append(("names.kind", now["names"].get("kind"), before["names"].get("kind")))
    return [
        fielderrors.invalid(f"spec.{field}", value, "field is immutable")
        for field, value, stored in pairs
        if value != stored
    ]


CUSTOM_RESOURCE_DEFINITION: Final = Kind(
    group=GROUP,
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    schema="apiextensions.v1.CustomResourceDefinition",
    strategy=CustomResourceDefinitionStrategy(),
    unconditional_update=False,
    subresources=(
        Subresource(
            name="status", verbs=("get", "patch", "update"), update=CustomResourceDefinitionStatusStrategy()
        ),
    ),
)
