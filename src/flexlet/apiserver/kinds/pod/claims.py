"""Claims that a pod brings along: templates of volume claims, and references to resource claims."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import INVALID, FieldError, duplicate, forbidden, invalid, not_supported, required
from flexlet.api.quantity import Quantity
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.labelselector import validate_label_selector
from flexlet.apiserver.kinds.metadata import validate_annotations, validate_labels
from flexlet.apiserver.kinds.pod.internalform import compact
from flexlet.apiserver.kinds.pod.scope import Errors

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_TEMPLATE_METADATA: Final = frozenset({"labels", "annotations"})
_MIRROR: Final = "kubernetes.io/config.mirror"


def validate_ephemeral(value: Object, path: str, errors: Errors) -> None:
    """A volume whose claim is made with the pod."""
    template, field = value.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
    if template is None:
        errors.append(required(field))
        return
    metadata = template.get("metadata") or {}
    validate_annotations(metadata.get("annotations") or {}, f"{field}.metadata.annotations", errors)
    validate_labels(metadata.get("labels") or {}, f"{field}.metadata.labels", errors)
    for key in metadata:
        if key not in _TEMPLATE_METADATA and metadata[key]:
            # Upstream takes the name from the Go field.
            shown = "uID" if key == "uid" else key
            errors.append(forbidden(f"{field}.metadata.{shown}", "cannot be set"))
    _validate_claim_spec(template.get("spec") or {}, f"{field}.spec", errors)


def _validate_claim_spec(spec: Object, path: str, errors: Errors) -> None:
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    validate_label_selector(spec.get("selector"), f"{path}.selector", errors)
    errors += [not_supported(f"{path}.accessModes", m, ACCESS_MODES) for m in modes if m not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and set(modes) & set(ACCESS_MODES[:3]):
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(forbidden(f"{path}.accessModes", text))
    _validate_storage((spec.get("resources") or {}).get("requests") or {}, f"{path}.resources[storage]", errors)
    _validate_class(spec.get("storageClassName"), f"{path}.storageClassName", errors)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    _validate_data_sources(spec, path, errors)
    _validate_class(spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName", errors)


def _validate_storage(requests: Object, path: str, errors: Errors) -> None:
    if "storage" not in requests:
        errors.append(required(path))
    elif (amount := Quantity.parse(requests["storage"])).nano <= 0:
        errors.append(invalid(path, amount, "must be greater than zero"))


def _validate_class(name: str | None, path: str, errors: Errors) -> None:
    if name:
        errors += [invalid(path, name, text) for text in names.dns1123_subdomain(name)]


def _validate_data_sources(spec: Object, path: str, errors: Errors) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        _validate_data_source(source, f"{path}.dataSource", errors)
    if reference is not None:
        _validate_data_source(reference, f"{path}.dataSourceRef", errors)
        if namespace := reference.get("namespace"):
            field = f"{path}.dataSourceRef.namespace"
            errors += [invalid(field, namespace, text) for text in names.dns1123_label(namespace)]
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(FieldError(path, INVALID, f"Invalid value: {{}}: {text}"))
    elif any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        errors.append(FieldError(path, INVALID, "Invalid value: {}: must match dataSourceRef"))


def _validate_data_source(source: Object, path: str, errors: Errors) -> None:
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    errors += [required(f"{path}.{key}") for key in ("name", "kind") if not source.get(key)]
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, text))
    if group:
        errors += [invalid(f"{path}.apiGroup", group, text) for text in names.dns1123_subdomain(group)]


def validate_resource_claims(claims: list[Object], annotations: Object, path: str, errors: Errors) -> None:
    """The devices a pod refers to by name."""
    taken: set[str] = set()
    for i, claim in enumerate(claims):
        if _MIRROR in annotations:
            errors.append(forbidden("[]", "static pods do not support resource claims"))
        else:
            _validate_resource_claim(claim, taken, f"{path}[{i}]", errors)


def _validate_resource_claim(claim: Object, taken: set[str], path: str, errors: Errors) -> None:
    name = claim.get("name") or ""
    if not name:
        errors.append(required(f"{path}.name"))
    elif name in taken:
        errors.append(duplicate(f"{path}.name", name))
    else:
        errors += [invalid(f"{path}.name", name, text) for text in names.dns1123_label(name)]
        taken.add(name)
    found = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(key) is not None]
    if len(found) != 1:
        either = "`resourceClaimName`{} `resourceClaimTemplateName`"
        text = (
            f"at most one of {either.format(' or')} may be specified"
            if found
            else f"must specify one of: {either.format(',')}"
        )
        errors.append(FieldError(path, INVALID, f"Invalid value: {compact(claim, 'PodResourceClaim')}: {text}"))
    for key in found:
        errors += [invalid(f"{path}.{key}", claim[key], text) for text in names.dns1123_subdomain(claim[key])]
