"""The questions of access reviews: their validation, and the attributes they ask about.

Follows ``pkg/apis/authorization/validation`` and ``pkg/registry/authorization/util``. A selector that cannot be
read is left out, which makes the question broader, and the answer says so.
"""

from typing import Any, Final, NamedTuple

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.api.selectors import FieldRequirement, FieldSelector
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import Attributes, User

_RESOURCE: Final = "spec.resourceAttributes"


class Question(NamedTuple):
    """What is asked, and what of it had to be left out."""

    attributes: Attributes
    left_out: str


def validate(kind: str, metadata: Object, spec: Object) -> list[FieldError]:
    """What is wrong with a SelfSubject-, Subject- or LocalSubjectAccessReview."""
    local = kind == "LocalSubjectAccessReview"
    errors = _validate_spec(spec, with_user=kind != "SelfSubjectAccessReview")
    given = {key for key, value in metadata.items() if value not in (None, "", {}, [])} - {"managedFields"}
    if given - ({"namespace"} if local else set()):
        detail = "must be empty except for namespace" if local else "must be empty"
        errors.append(fielderrors.invalid("metadata", metadata, detail))
    return errors + (_validate_local(metadata, spec) if local else [])


def _validate_spec(spec: Object, *, with_user: bool) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = []
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        errors.append(fielderrors.invalid("spec.nonResourceAttributes", path, detail))
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(fielderrors.invalid(_RESOURCE, None, detail))
    if with_user and not spec.get("user") and not spec.get("groups"):
        errors.append(fielderrors.invalid("spec.user", "", "at least one of user or group must be specified"))
    for name in ("fieldSelector", "labelSelector"):
        selector = (resource or {}).get(name)
        if selector is not None:
            errors += _validate_selector(selector, f"{_RESOURCE}.{name}")
    return errors


def _validate_selector(selector: Object, path: str) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        detail = "may not specified at the same time as requirements"
        return [fielderrors.invalid(f"{path}.rawSelector", raw, detail)]
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        return [fielderrors.required(f"{path}.requirements", detail)]
    return []


def _validate_local(metadata: Object, spec: Object) -> list[FieldError]:
    errors = []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and _text(resource, "namespace") != _text(metadata, "namespace"):
        field = f"{_RESOURCE}.namespace"
        errors.append(fielderrors.invalid(field, _text(resource, "namespace"), "must match metadata.namespace"))
    if path is not None:
        detail = "disallowed on this kind of request"
        errors.append(fielderrors.invalid("spec.nonResourceAttributes", path, detail))
    return errors


def subject(spec: Object) -> User:
    """The user a SubjectAccessReview asks about; only the groups it names count."""
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(
        name=_text(spec, "user"),
        uid=_text(spec, "uid"),
        groups=tuple(spec.get("groups") or ()),
        extra=extra,
    )


def question(user: User, spec: Object) -> Question:
    """The request a valid review asks about."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        path = spec["nonResourceAttributes"]
        return Question(Attributes(user=user, verb=_text(path, "verb"), path=_text(path, "path")), "")
    fields, left_out = _field_selector(resource.get("fieldSelector") or {})
    attributes = Attributes(
        user=user,
        verb=_text(resource, "verb"),
        group=_text(resource, "group"),
        version=_text(resource, "version") or "*",
        resource=_text(resource, "resource"),
        subresource=_text(resource, "subresource"),
        namespace=_text(resource, "namespace"),
        name=_text(resource, "name"),
        field_selector=fields,
        label_selector=_text(resource.get("labelSelector") or {}, "rawSelector"),
    )
    return Question(attributes, left_out)


def _field_selector(selector: dict[str, Any]) -> tuple[str, str]:
    """The selector as text, and the remark that belongs to what could not be taken over."""
    requirements = selector.get("requirements") or []
    usable = [term for term in requirements if term.get("operator") in _NEGATED and _single(term)]
    terms = (FieldRequirement(term["key"], term["values"][0], _NEGATED[term["operator"]]) for term in usable)
    text = str(FieldSelector(tuple(terms)))
    if len(usable) == len(requirements):
        return selector.get("rawSelector") or text, ""
    how = "partially ignored" if usable else "ignored"
    return text, f"{_RESOURCE}.fieldSelector {how} due to parse error"


_NEGATED: Final = {"In": False, "NotIn": True}


def _text(holder: Object, key: str) -> str:
    return holder.get(key) or ""


def _single(term: dict[str, Any]) -> bool:
    return len(term.get("values") or ()) == 1
