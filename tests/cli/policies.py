"""ValidatingAdmissionPolicies asked without a Kubernetes: enough of them for flexlet's own.

Expressions run in flexlet's CEL. A request has what the real ones have: empty fields are absent, and there is no
object on a DELETE and no old one on a CREATE.
"""

from typing import Any

import msgspec

from flexlet.apiserver.crd.cel.compiler import _Compiler
from flexlet.apiserver.crd.cel.parser import parse
from flexlet.apiserver.crd.cel.scope import Scope

_KNOWN = frozenset({"object", "oldObject", "request", "variables"})

Json = dict[str, Any]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody wants something."""

    user: str
    groups: tuple[str, ...] = ("system:authenticated",)
    operation: str
    resource: str
    """With the subresource: ``pods/resize``."""
    kind: str = "Pod"
    namespace: str = ""
    name: str = ""
    object: Json | None = None
    old: Json | None = None

    def value(self) -> Json:
        """The `request` of expressions."""
        plural, _, subresource = self.resource.partition("/")
        found = {
            "operation": self.operation,
            "userInfo": {"username": self.user, "groups": list(self.groups)},
            "kind": {"kind": self.kind, "version": "v1"},
            "resource": {"resource": plural, "version": "v1"},
            "subResource": subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {key: value for key, value in found.items() if value}


def refusal(policies: list[Json], request: Request) -> str:
    """Why the first of these policies refuses the request; empty if none does."""
    for policy in policies:
        if _matches(policy["spec"], request) and (text := _asked(policy["spec"], request)):
            return text
    return ""


def _matches(spec: Json, request: Request) -> bool:
    return any(
        request.resource in rule["resources"] and request.operation in rule["operations"]
        for rule in spec["matchConstraints"]["resourceRules"]
    )


def _asked(spec: Json, request: Request) -> str:
    found: Json = {}
    variables = {
        "object": request.object,
        "oldObject": request.old,
        "request": request.value(),
        "variables": found,
    }
    if not all(_evaluated(each["expression"], variables) for each in spec.get("matchConditions", ())):
        return ""
    for each in spec.get("variables", ()):
        found[each["name"]] = _evaluated(each["expression"], variables)
    for each in spec["validations"]:
        if not _evaluated(each["expression"], variables):
            return str(_evaluated(each["messageExpression"], variables))
    return ""


def _evaluated(text: str, variables: Json) -> Any:
    return _Compiler().program(parse(text), _KNOWN)(Scope(variables))
