"""What metadata may look like, for every kind: names, labels, annotations, owners, finalizers.

`validate` and `validate_update` are called by a kind's own rules. `validate_common` and `validate_common_update`
are what the REST pipeline checks of every kind besides; like upstream, both may find the same thing, and then
clients see it twice. Follows ``apimachinery/pkg/api/validation/objectmeta.go`` and the rule
of the built-in kinds that a finalizer without a domain is a standard one.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from flexlet.api import names
from flexlet.api.fielderrors import INVALID, FieldError, forbidden, invalid, quoted, required, too_long
from flexlet.apiserver.contract.kind import Object

NameRule = Callable[[str], list[str]]
"""Complaints about a name, from `flexlet.api.names`."""
Errors = list[FieldError]

METADATA: Final = "metadata"
MAX_ANNOTATIONS_BYTES: Final = 256 * 1024
MAX_QUOTED_BYTES: Final = 1024 * 1024
"""How much the findings about owner references quote, beyond the first of them."""
IMMUTABLE: Final = "field is immutable"
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_FROZEN: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_OWNER_FIELDS: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def validate(obj: Object, name_rule: NameRule, *, namespaced: bool = True) -> Errors:
    """What is wrong with the metadata of a new built-in object."""
    meta = obj.get(METADATA) or {}
    return [*_validate_new(meta, name_rule, namespaced=namespaced), *_validate_finalizer_domains(meta)]


def validate_update(obj: Object, old: Object) -> Errors:
    """What is wrong with changing the metadata of a built-in object."""
    meta = obj.get(METADATA) or {}
    return [*_validate_change(meta, old.get(METADATA) or {}), *_validate_finalizer_domains(meta)]


def validate_common(obj: Object, *, namespaced: bool) -> Errors:
    """What is checked of any new object once its kind has found nothing."""
    return _validate_new(obj.get(METADATA) or {}, names.path_segment, namespaced=namespaced)


def validate_common_update(obj: Object, old: Object, *, namespaced: bool) -> Errors:
    """What is checked of any update before the kind's own rules; the findings come first."""
    meta = obj.get(METADATA) or {}
    errors = _validate_new(meta, names.path_segment, namespaced=namespaced)
    return [*errors, *_validate_change(meta, old.get(METADATA) or {})]


def _validate_new(meta: Object, name_rule: NameRule, *, namespaced: bool) -> Errors:
    errors: Errors = []
    _validate_names(meta, name_rule, errors)
    _validate_namespace(meta, namespaced, errors)
    if (meta.get("generation") or 0) < 0:
        errors.append(invalid("metadata.generation", meta["generation"], "must be greater than or equal to 0"))
    _validate_parts(meta, errors)
    _validate_finalizers(meta.get("finalizers") or (), errors)
    return errors


def _validate_names(meta: Object, name_rule: NameRule, errors: Errors) -> None:
    prefix, name = meta.get("generateName"), meta.get("name")
    if prefix:
        errors += [invalid("metadata.generateName", prefix, text) for text in name_rule(names.as_prefix(prefix))]
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    elif complaints := name_rule(name):
        errors += [invalid("metadata.name", name, text) for text in complaints]


def _validate_namespace(meta: Object, namespaced: bool, errors: Errors) -> None:
    namespace = meta.get("namespace")
    if not namespaced:
        if namespace:
            errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    elif not namespace:
        errors.append(required("metadata.namespace"))
    elif complaints := names.dns1123_label(namespace):
        errors += [invalid("metadata.namespace", namespace, text) for text in complaints]


def _validate_change(meta: Object, old: Object) -> Errors:
    errors: Errors = []
    if old.get("deletionTimestamp") is not None:
        _validate_no_new_finalizers(meta, old, errors)
    if not meta.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if (meta.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(invalid("metadata.generation", meta.get("generation") or 0, "must not be decremented"))
    for key in _FROZEN:
        if meta.get(key) != old.get(key):
            errors.append(invalid(f"metadata.{key}", meta.get(key), IMMUTABLE))
    _validate_parts(meta, errors)
    return errors


def _validate_no_new_finalizers(meta: Object, old: Object, errors: Errors) -> None:
    added = sorted(set(meta.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if added:
        shown = ", ".join(f'"{finalizer}"' for finalizer in added)
        text = "no new finalizers can be added if the object is being deleted, found new finalizers"
        errors.append(forbidden("metadata.finalizers", f"{text} []string{{{shown}}}"))


def _validate_parts(meta: Object, errors: Errors) -> None:
    """What is checked of new objects and of updates alike."""
    if labels := meta.get("labels"):
        validate_labels(labels, "metadata.labels", errors)
    if annotations := meta.get("annotations"):
        validate_annotations(annotations, "metadata.annotations", errors)
    if owners := meta.get("ownerReferences"):
        _validate_owners(owners, errors)


def validate_labels(labels: Object, path: str, errors: Errors) -> None:
    """Every key is a qualified name and every value fit for a label; all findings carry the map's path."""
    for key, value in labels.items():
        errors += [invalid(path, key, text) for text in names.label_key(key)]
        errors += [invalid(path, value, text) for text in names.label_value(value)]


def validate_annotations(annotations: Object, path: str, errors: Errors) -> None:
    """Keys are qualified names in any case; all together have a limit in bytes."""
    size = 0
    for key, value in annotations.items():
        errors += [invalid(path, key, text) for text in names.annotation_key(key)]
        size += _size(key) + _size(value)
    if size > MAX_ANNOTATIONS_BYTES:
        errors.append(too_long(path, MAX_ANNOTATIONS_BYTES))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _validate_owners(owners: list[Object], errors: Errors) -> None:
    path, controller = "metadata.ownerReferences", ""
    shown, room = "", MAX_QUOTED_BYTES
    for owner in owners:
        _validate_owner(owner, path, errors)
        if not owner.get("controller"):
            continue
        name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            text = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller} and {name}'
            )
            shown = shown or quoted([_ordered(o) for o in owners])
            # Each finding quotes all owners: thousands of them would fill the memory.
            value = shown if room > 0 else "..."
            errors.append(FieldError(path, INVALID, f"Invalid value: {value}: {text}"))
            room -= len(shown)
        else:
            controller = name


def _validate_owner(owner: Object, path: str, errors: Errors) -> None:
    version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    # A text with more than one slash is no version at all.
    if not version.rpartition("/")[2] or version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, "version must not be empty"))
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            errors.append(invalid(f"{path}.{key}", "", "must not be empty"))
    if (version, kind) == ("v1", "Event"):
        errors.append(invalid(path, _ordered(owner), "/v1, Kind=Event is disallowed from being an owner"))


def _ordered(owner: Object) -> Object:
    return {key: owner[key] for key in _OWNER_FIELDS if owner.get(key) is not None}


def _validate_finalizers(finalizers: Iterable[str], errors: Errors) -> None:
    found = list(finalizers)
    for finalizer in found:
        errors += [invalid("metadata.finalizers", finalizer, text) for text in names.qualified_name(finalizer)]
    if {"orphan", "foregroundDeletion"} <= set(found):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid("metadata.finalizers", found, text))


def _validate_finalizer_domains(meta: Object) -> Errors:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{i}]", finalizer, text)
        for i, finalizer in enumerate(meta.get("finalizers") or ())
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
    ]


def validate_immutable(value: Any, old: Any, path: str, errors: Errors) -> None:
    """A field that may not change."""
    if value != old:
        errors.append(invalid(path, value, IMMUTABLE))
