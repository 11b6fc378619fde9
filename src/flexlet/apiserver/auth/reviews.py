"""Reviews: create-only kinds that answer "may they?" and "who am I?" and are never stored.

One handler for the group authorization.k8s.io and the reviews of authentication.k8s.io, by kind. Answers are
upstream's: the request with its status filled in; a rules review comes back with an empty spec.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from flexlet.api import status
from flexlet.api.age import format_seconds
from flexlet.apiserver.auth import reviewspecs
from flexlet.apiserver.auth.authenticate import Authenticator
from flexlet.apiserver.auth.authorize import Authorizer
from flexlet.apiserver.auth.credentials import Refused
from flexlet.apiserver.auth.rules import Rule
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import User

AUTHENTICATION: Final = "authentication.k8s.io"
AUTHORIZATION: Final = "authorization.k8s.io"

Answer: TypeAlias = Callable[[str, Object, Object, User], Object]


class Reviews:
    """Answers reviews of one server."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer, now: Callable[[], float]) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._now = now
        self._answers: dict[str, Answer] = {
            "SelfSubjectAccessReview": self._access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._access,
            "SelfSubjectRulesReview": self._rules,
            "SelfSubjectReview": self._self,
            "TokenReview": self._token,
        }

    async def create(self, kind: str, obj: Object, user: User) -> Object:
        """The answer to a review of that kind; a local one carries the URL's namespace in its metadata.

        Raises:
            ApiError: the question is not a valid one.
        """
        return self._answers[kind](kind, obj.get("metadata") or {}, obj.get("spec") or {}, user)

    def _access(self, kind: str, metadata: Object, spec: Object, user: User) -> Object:
        errors = reviewspecs.validate(kind, metadata, spec)
        if errors:
            # Upstream forgets the kind's name here; clients see it so.
            raise status.invalid("", AUTHORIZATION, "", errors)
        asked = user if kind == "SelfSubjectAccessReview" else reviewspecs.subject(spec)
        attributes, left_out = reviewspecs.question(asked, spec)
        decision = self._authorizer.decide(attributes)
        answer: Object = {"allowed": decision.allowed}
        if decision.reason:
            answer["reason"] = decision.reason
        if left_out:
            answer["evaluationError"] = left_out
        return _review(AUTHORIZATION, kind, metadata, spec, answer)

    def _rules(self, kind: str, metadata: Object, spec: Object, user: User) -> Object:
        del metadata
        if not spec.get("namespace"):
            raise status.bad_request("no namespace on request")
        listed = self._authorizer.rules_for(user, spec["namespace"])
        answer: Object = {
            "resourceRules": [_resource_rule(rule) for rule in listed.rules if rule.resources],
            "nonResourceRules": [_path_rule(rule) for rule in listed.rules if rule.non_resource_urls],
            "incomplete": listed.incomplete,
        }
        if listed.fault:
            answer["evaluationError"] = listed.fault
        return _review(AUTHORIZATION, kind, {}, {}, answer)

    def _self(self, kind: str, metadata: Object, spec: Object, user: User) -> Object:
        del metadata, spec
        return {
            "kind": kind,
            "apiVersion": f"{AUTHENTICATION}/v1",
            "metadata": {"creationTimestamp": format_seconds(self._now())},
            "status": {"userInfo": user_info(user)},
        }

    def _token(self, kind: str, metadata: Object, spec: Object, user: User) -> Object:
        del user
        if not spec.get("token"):
            raise status.bad_request("token is required for TokenReview in authentication")
        audiences = tuple(spec.get("audiences") or self._authenticator.audiences)
        outcome = self._authenticator.check_token(spec["token"], audiences)
        if isinstance(outcome, Refused):
            answer: Object = {"user": {}, "error": outcome.reason}
        else:
            known = user_info(outcome.user)
            answer = {"authenticated": True, "user": known, "audiences": list(outcome.audiences)}
        return _review(AUTHENTICATION, kind, metadata, spec, answer)


def user_info(user: User) -> Object:
    """A user as reviews show it; parts that are empty are left out."""
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(user.extra[key]) for key in sorted(user.extra)}
    return info


def _review(group: str, kind: str, metadata: Object, spec: Object, answer: Object) -> Object:
    return {
        "kind": kind,
        "apiVersion": f"{group}/v1",
        "metadata": {key: value for key, value in metadata.items() if key != "managedFields"},
        "spec": spec,
        "status": answer,
    }


def _resource_rule(rule: Rule) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(rule)
    return {"verbs": list(rule.verbs)} | {k: list(v) for k, v in shown.items() if k != "nonResourceURLs"}


def _path_rule(rule: Rule) -> dict[str, Any]:
    return {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
