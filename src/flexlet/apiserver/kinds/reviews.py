"""Reviews: questions to the server that are answered and never stored, and the Binding of a pod to a node.

Kinds and the rules for questions; the answers are given by handlers.
"""

from typing import Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds.labelselector import validate_label_name
from flexlet.apiserver.kinds.strategy import KindStrategy

AUTHENTICATION: Final = "authentication.k8s.io"
AUTHORIZATION: Final = "authorization.k8s.io"
_ATTRIBUTES: Final = "spec.resourceAttributes"
_EXACTLY_ONE: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class ReviewStrategy(KindStrategy):
    """A question; metadata is not looked at."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def validate(self, obj: Object) -> list[FieldError]:
        """Anything may be asked."""
        del obj
        return []


class AccessReviewStrategy(ReviewStrategy):
    """May somebody do something?"""

    def __init__(self, type_name: str, *, names_subject: bool, local: bool = False) -> None:
        super().__init__(type_name)
        self._names_subject = names_subject
        self._local = local

    def validate(self, obj: Object) -> list[FieldError]:
        """Something must be asked, about somebody."""
        spec = obj["spec"]
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        errors = []
        if resource is not None and path is not None:
            text = "cannot be specified in combination with resourceAttributes"
            errors.append(fielderrors.invalid("spec.nonResourceAttributes", _path(path), text))
        if resource is None and path is None:
            errors.append(fielderrors.invalid(_ATTRIBUTES, None, _EXACTLY_ONE))
        if self._names_subject and not spec.get("user") and not spec.get("groups"):
            text = "at least one of user or group must be specified"
            errors.append(fielderrors.invalid("spec.user", "", text))
        for key in ("fieldSelector", "labelSelector"):
            errors += _check_selector((resource or {}).get(key), f"{_ATTRIBUTES}.{key}")
        return errors + self._check_place(obj, resource, path)

    def _check_place(self, obj: Object, resource: Object | None, path: Object | None) -> list[FieldError]:
        meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        namespace = meta.pop("namespace", "") if self._local else ""
        errors = []
        if meta:
            text = "must be empty except for namespace" if self._local else "must be empty"
            errors.append(fielderrors.invalid("metadata", obj["metadata"], text))
        if not self._local:
            return errors
        if resource is not None and resource.get("namespace", "") != namespace:
            field, asked = f"{_ATTRIBUTES}.namespace", resource.get("namespace", "")
            errors.append(fielderrors.invalid(field, asked, "must match metadata.namespace"))
        if path is not None:
            text = "disallowed on this kind of request"
            errors.append(fielderrors.invalid("spec.nonResourceAttributes", _path(path), text))
        return errors


def _path(attributes: Object) -> Object:
    """The attributes as upstream's internal form prints them."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _check_selector(selector: Object | None, field: str) -> list[FieldError]:
    if selector is None:
        return []
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    errors: list[FieldError] = []
    if raw and requirements:
        text = "may not specified at the same time as requirements"
        errors.append(fielderrors.invalid(f"{field}.rawSelector", raw, text))
    if not raw and not requirements:
        text = f"when {field} is specified, requirements or rawSelector is required"
        errors.append(fielderrors.required(f"{field}.requirements", text))
    for index, requirement in enumerate(requirements):
        _check_requirement(requirement, f"{field}.requirements[{index}]", errors)
    return errors


def _check_requirement(requirement: Object, field: str, errors: list[FieldError]) -> None:
    """Operators that are unknown here may be known to an authorizer."""
    operator, values, key = requirement.get("operator"), requirement.get("values"), requirement.get("key", "")
    if operator in {"In", "NotIn"} and not values:
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.append(fielderrors.required(f"{field}.values", text))
    if operator in {"Exists", "DoesNotExist"} and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(fielderrors.forbidden(f"{field}.values", text))
    if "labelSelector" in field:
        validate_label_name(key, f"{field}.key", errors)
    elif not key:
        errors.append(fielderrors.required(f"{field}.key", "must be specified"))


def _review(group: str, kind: str, strategy: ReviewStrategy, *, namespaced: bool = False) -> Kind:
    return Kind(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        namespaced=namespaced,
        schema=strategy.type_name,
        strategy=strategy,
        verbs=("create",),
        stored=False,
    )


REVIEWS: Final = (
    _review(AUTHENTICATION, "SelfSubjectReview", ReviewStrategy("authentication.v1.SelfSubjectReview")),
    _review(AUTHENTICATION, "TokenReview", ReviewStrategy("authentication.v1.TokenReview")),
    _review(
        AUTHORIZATION,
        "LocalSubjectAccessReview",
        AccessReviewStrategy("authorization.v1.LocalSubjectAccessReview", names_subject=True, local=True),
        namespaced=True,
    ),
    _review(
        AUTHORIZATION,
        "SelfSubjectAccessReview",
        AccessReviewStrategy("authorization.v1.SelfSubjectAccessReview", names_subject=False),
    ),
    _review(AUTHORIZATION, "SelfSubjectRulesReview", ReviewStrategy("authorization.v1.SelfSubjectRulesReview")),
    _review(
        AUTHORIZATION,
        "SubjectAccessReview",
        AccessReviewStrategy("authorization.v1.SubjectAccessReview", names_subject=True),
    ),
)

BINDING: Final = _review("", "Binding", ReviewStrategy("core.v1.Binding"), namespaced=True)
