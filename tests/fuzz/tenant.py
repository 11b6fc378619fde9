"""A service account that may write in one namespace and do nothing else, and what it therefore may see succeed."""

import json
import re
from typing import Any, Final
from urllib.parse import unquote

from tests.fuzz.corpus import JSON, Request
from tests.fuzz.wire import Answer, Wire

NAMESPACE: Final = "tenant"
VERBS: Final = ["create", "update", "patch", "delete"]
GRANTED: Final[dict[str, list[str]]] = {
    "": [
        "pods",
        "pods/status",
        "configmaps",
        "secrets",
        "events",
        "resourcequotas",
        "limitranges",
        "serviceaccounts",
    ],
    "apps": ["deployments", "replicasets", "daemonsets", "deployments/scale"],
    "batch": ["jobs"],
    "coordination.k8s.io": ["leases"],
    "policy": ["poddisruptionbudgets"],
    "fuzz.example.com": ["odds", "odds/status"],
}
ODDS: Final = f"/apis/fuzz.example.com/v1/namespaces/{NAMESPACE}/odds"

_RESOURCE: Final = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)/namespaces/tenant/(?P<resource>[^/]+)(?:/[^/]+(?:/(?P<sub>[^/]+))?)?"
)
_DISCOVERY: Final = re.compile(
    r"/(?:api|apis|version|healthz|livez|readyz|openapi)(?:/.*)?|/api/v1/?|/apis/[^/]+(?:/[^/]+)?/?|"
    r"/\.well-known/openid-configuration/?|/openid/v1/jwks/?"
)
_OBJECT: Final = re.compile(r"/(?:api/[^/]+|apis/[^/]+/[^/]+)/+[^/].*")
_OWN_REVIEWS: Final = re.compile(
    r"/apis/(?:authorization\.k8s\.io/v1/selfsubject(?:access|rules)reviews|"
    r"authentication\.k8s\.io/v1/selfsubjectreviews)"
)


def odd_schema() -> dict[str, Any]:
    """The schema of a custom resource with patterns and rules over everything the tenant writes."""
    text = {"type": "string", "maxLength": 200_000}
    rules = [
        {"rule": "!has(self.words) || self.words.all(w, w.size() < 100)"},
        {"rule": "!has(self.text) || self.text.matches('^(a+)+$') || true"},
        {"rule": "!has(self.words) || self.words.all(w, w.matches('(x|xx)*y?') || true)"},
    ]
    spec = {
        "type": "object",
        "properties": {
            "text": text,
            "pattern": {**text, "pattern": "^(a|aa)+$|^([a-z]+)*[0-9]{1,50}$"},
            "words": {"type": "array", "items": {"type": "string", "maxLength": 100}, "maxItems": 500},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string"},
                        "value": {"x-kubernetes-preserve-unknown-fields": True},
                    },
                },
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "number": {"type": "number", "multipleOf": 0.1, "minimum": -1e300},
            "time": {"type": "string", "format": "date-time"},
            "address": {"type": "string", "format": "ipv6"},
            "mail": {"type": "string", "format": "email"},
            "duration": {"type": "string", "format": "duration"},
            "port": {"x-kubernetes-int-or-string": True, "pattern": "^([0-9]+)*$"},
        },
        "x-kubernetes-validations": rules,
    }
    return {"type": "object", "properties": {"spec": spec, "status": {**spec, "x-kubernetes-validations": []}}}


def _definition() -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": odd_schema()},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Free", "type": "string", "jsonPath": ".spec.free.a[*].b"},
            {"name": "Words", "type": "string", "jsonPath": ".spec.words[:]"},
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "odds.fuzz.example.com"},
        "spec": {
            "group": "fuzz.example.com",
            "scope": "Namespaced",
            "names": {"plural": "odds", "singular": "odd", "kind": "Odd", "listKind": "OddList"},
            "versions": [version],
        },
    }


def admit(admin: Wire) -> str:
    """Make the namespace, the definition, the account and its role; gives the account's token."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    inside = f"/api/v1/namespaces/{NAMESPACE}"
    rules = [{"apiGroups": [group], "resources": names, "verbs": VERBS} for group, names in GRANTED.items()]
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": NAMESPACE}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "robot"}
    named = {"metadata": {"name": "robot"}}
    _made(admin, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    _made(admin, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _definition())
    _made(admin, f"{inside}/serviceaccounts", named)
    _made(admin, f"{rbac}/namespaces/{NAMESPACE}/roles", {**named, "rules": rules})
    _made(
        admin,
        f"{rbac}/namespaces/{NAMESPACE}/rolebindings",
        {**named, "subjects": [subject], "roleRef": reference},
    )
    token: str = _made(admin, f"{inside}/serviceaccounts/robot/token", {"spec": {"expirationSeconds": 86400}})[
        "status"
    ]["token"]
    return token


def _made(admin: Wire, path: str, value: dict[str, Any]) -> Any:
    answer = admin.send(Request("POST", path, (), (("Content-Type", JSON),), json.dumps(value).encode()))
    assert isinstance(answer, Answer), answer
    assert answer.status == 201, answer
    return json.loads(answer.body)


def complaint(request: Request, answer: Answer | str) -> str:
    """What is wrong with an answer that is well-formed: a success of what the account may not do."""
    if isinstance(answer, str) or not 200 <= answer.status < 300 or _may(request):
        return ""
    return f"{answer.status}, and the account may not do that: {answer.body[:300]!r}"


def _may(request: Request) -> bool:
    path = unquote(request.path)  # what is authorized is what the path means
    if not _OBJECT.fullmatch(path):
        return request.method in {"GET", "HEAD"} and bool(_DISCOVERY.fullmatch(path.split("?")[0]))
    if request.method == "POST" and _OWN_REVIEWS.fullmatch(path):
        return True
    found = _RESOURCE.fullmatch(path)
    if found is None or request.method not in {"POST", "PUT", "PATCH", "DELETE"}:
        return False
    name = "/".join(filter(None, (found["resource"], found["sub"])))
    return name in GRANTED.get(found["group"] or "", [])
