"""What a CustomResourceDefinition may say; follows ``apiextensions/validation``."""

import re
import urllib.parse
from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.crd import schema
from flexlet.apiserver.kinds.crd.internalform import InternalSpec, internal
from flexlet.apiserver.kinds.crd.parts import check_columns, check_conversion, check_subresources

APPROVED: Final = "api-approved.kubernetes.io"
MAX_WARNING: Final = 256
_SCOPES: Final = ("Cluster", "Namespaced")
_CASE: Final = "may have mixed case, but should otherwise match: "
_APPROVAL_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def check_spec(spec: Object) -> list[FieldError]:
    """The rules of a definition, new or changed."""
    form = internal(spec)
    errors = _check_group(spec.get("group", ""))
    errors += check_choice(spec.get("scope", ""), _SCOPES, "spec.scope")
    errors += _check_has_schemas(form)
    for index, version in enumerate(form.versions):
        errors += _check_version(form, index, version)
    errors += _check_version_set(form)
    errors += [
        fielderrors.required(f"spec.names.{key}")
        for key in ("plural", "singular", "kind", "listKind")
        if not spec["names"].get(key)
    ]
    errors += check_names(spec["names"], "spec.names")
    status = any(_has_status(form, index) for index in range(len(form.versions)))
    errors += schema.check_validation(form.shared.get("validation"), "spec.validation", has_status=status)
    errors += check_subresources(form.shared.get("subresources"), "spec.subresources")
    errors += check_columns(form.shared.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    if "selectableFields" in form.shared:
        field = "spec.selectableFields"
        errors += schema.check_selectable(form.shared["selectableFields"], form.shared.get("validation"), field)
    return errors + check_conversion(spec.get("conversion"), "spec.conversion")


def _check_group(group: str) -> list[FieldError]:
    if not group:
        return [fielderrors.required("spec.group")]
    if complaints := names.dns1123_subdomain(group):
        return [fielderrors.invalid("spec.group", group, ",".join(complaints))]
    text = "should be a domain with at least one dot"
    return [] if "." in group else [fielderrors.invalid("spec.group", group, text)]


def check_choice(value: str, choices: tuple[str, ...], field: str) -> list[FieldError]:
    """One of a few words, and one of them there must be."""
    if not value:
        return [fielderrors.required(field)]
    return [] if value in choices else [fielderrors.not_supported(field, value, choices)]


def _check_has_schemas(form: InternalSpec) -> list[FieldError]:
    if (form.shared.get("validation") or {}).get("openAPIV3Schema") is not None:
        return []
    return [
        fielderrors.required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(form.versions)
        if (version.get("schema") or {}).get("openAPIV3Schema") is None
    ]


def _check_version(form: InternalSpec, index: int, version: Object) -> list[FieldError]:
    field, name = f"spec.versions[{index}]", version.get("name", "")
    errors = []
    if complaints := names.dns1035_label(name):
        errors.append(fielderrors.invalid(f"{field}.name", name, ",".join(complaints)))
    warning = version.get("deprecationWarning")
    errors += [
        fielderrors.invalid(f"{field}.deprecationWarning", warning, complaint)
        for complaint in _warning_complaints(warning, deprecated=bool(version.get("deprecated")))
    ]
    status = _has_status(form, index)
    errors += schema.check_validation(version.get("schema"), f"{field}.schema", has_status=status)
    errors += check_subresources(version.get("subresources"), f"{field}.subresources")
    errors += check_columns(version.get("additionalPrinterColumns"), f"{field}.additionalPrinterColumns")
    if version.get("selectableFields"):
        selectable, own = version["selectableFields"], version.get("schema")
        errors += schema.check_selectable(selectable, own, f"{field}.selectableFields")
    return errors


def _has_status(form: InternalSpec, index: int) -> bool:
    return (form.part(index, "subresources") or {}).get("status") is not None


def _warning_complaints(warning: str | None, *, deprecated: bool) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    complaints = []
    if len(warning.encode()) > MAX_WARNING:
        complaints.append(f"must be <= {MAX_WARNING} characters long")
    if not warning:
        complaints.append("must not be an empty string")
    odd = next((index for index, character in enumerate(warning) if not character.isprintable()), None)
    if odd is not None:
        place = len(warning[:odd].encode())
        text = "must only contain printable UTF-8 characters; non-printable character found at index"
        complaints.append(f"{text} {place}")
    return complaints


def _check_version_set(form: InternalSpec) -> list[FieldError]:
    names_ = [version.get("name", "") for version in form.versions]
    stored = sum(bool(version.get("storage")) for version in form.versions)
    errors = []
    if len(set(names_)) < len(names_):
        errors.append(fielderrors.invalid("spec.versions", form.shown(), "must contain unique version names"))
    if stored != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(fielderrors.invalid("spec.versions", form.shown(), text))
    return errors


def check_names(given: Object, field: str) -> list[FieldError]:
    """Names that can stand in paths and host names."""
    errors = []
    for key in ("plural", "singular"):
        errors += _check_name(given.get(key, ""), f"{field}.{key}")
    for key in ("kind", "listKind"):
        name = given.get(key, "")
        if name and (complaints := names.dns1035_label(name.lower())):
            errors.append(fielderrors.invalid(f"{field}.{key}", name, _CASE + ",".join(complaints)))
    for index, short in enumerate(given.get("shortNames", ())):
        errors += _check_name(short, f"{field}.shortNames[{index}]", empty=False)
    if given.get("kind") and given["kind"] == given.get("listKind"):
        text = "kind and listKind may not be the same"
        errors.append(fielderrors.invalid(f"{field}.listKind", given["listKind"], text))
    for index, category in enumerate(given.get("categories", ())):
        errors += _check_name(category, f"{field}.categories[{index}]", empty=False)
    return errors


def _check_name(name: str, field: str, *, empty: bool = True) -> list[FieldError]:
    complaints = names.dns1035_label(name) if name or not empty else []
    return [fielderrors.invalid(field, name, ",".join(complaints))] if complaints else []


def check_stored_versions(crd: Object) -> list[FieldError]:
    """A version that may have objects must not go."""
    field, stored = "status.storedVersions", crd["status"].get("storedVersions") or None
    if stored is None:
        return [fielderrors.invalid(field, None, "must have at least one stored version")]
    versions = crd["spec"].get("versions") or []
    errors = [
        fielderrors.invalid(field, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    present = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in present:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(fielderrors.invalid(f"{field}[{index}]", name, text))
    return errors


def check_approval(crd: Object, old: Object | None) -> list[FieldError]:
    """Kubernetes' own groups are for approved APIs."""
    if not re.search(r"(^|\.)(k8s|kubernetes)\.io$", crd["spec"].get("group", "")):
        return []
    state, text = _approval(crd)
    if state in {"approved", "bypassed"} or (old is not None and _approval(old)[0] == state):
        return []
    field = f"metadata.annotations[{APPROVED}]"
    if state == "missing":
        return [fielderrors.required(field, text)]
    return [fielderrors.invalid(field, crd["metadata"]["annotations"][APPROVED], text)]


def _approval(crd: Object) -> tuple[str, str]:
    value = crd["metadata"].get("annotations", {}).get(APPROVED, "")
    must = f'protected groups must have approval annotation "{APPROVED}"'
    if not value:
        return "missing", f"{must}, {_APPROVAL_SEE}"
    if value.startswith("unapproved"):
        return "bypassed", ""
    if _is_url(value):
        return "approved", ""
    return "invalid", f'{must} with either a URL or a reason starting with "unapproved", {_APPROVAL_SEE}'


def _is_url(text: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


def check_preserve_unknown(crd: Object, old: Object | None) -> list[FieldError]:
    """The switch of v1beta1 can only be switched off."""
    wanted: Any = crd["spec"].get("preserveUnknownFields")
    if not wanted or (old or {}).get("spec", {}).get("preserveUnknownFields"):
        return []
    text = (
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    )
    return [fielderrors.invalid("spec.preserveUnknownFields", wanted, text)]
