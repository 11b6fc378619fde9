"""A server's stored objects in memory, with the authorizer and the authenticator on top, and recorded requests."""

import copy
import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from flexlet.api import status
from flexlet.apiserver.auth import bootstrap, certificates, jwt
from flexlet.apiserver.auth.accounttokens import AccountTokens
from flexlet.apiserver.auth.authenticate import Authenticator
from flexlet.apiserver.auth.authorize import new_authorizer
from flexlet.apiserver.auth.bootstraptokens import BootstrapTokens
from flexlet.apiserver.auth.credentials import StaticTokens
from flexlet.apiserver.auth.podgraph import PodGraph
from flexlet.apiserver.auth.reviews import Reviews
from flexlet.apiserver.auth.tokens import TokenRequests
from flexlet.apiserver.contract.kind import Object, object_key
from flexlet.apiserver.contract.request import Attributes, User

DATA = Path(__file__).parents[2] / "data" / "auth"
NOW = 1_800_000_000.0
ISSUER = "https://kubernetes.default.svc"
ADMIN = User(name="admin", groups=("system:masters", "system:authenticated"))
ALICE = User(name="alice", groups=("devs", "system:authenticated"))
RBAC = "rbac.authorization.k8s.io"
AUTHORITY = certificates.new_authority("test", NOW)


@functools.cache
def token_key() -> Any:
    """One key for all tests."""
    return certificates.new_key()


class World:
    """Objects by bucket, and everything of auth that reads them."""

    def __init__(self, *, roles: bool = True) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.counts: dict[str, int] = {}
        self.now = NOW
        self.graph = PodGraph()
        self.authorizer = new_authorizer(self, self.versions, self.graph, bootstrap.node_rules())
        keys = jwt.KeyRing([token_key().public_key()])
        self.accounts = AccountTokens(ISSUER, keys, self)
        checkers = (
            StaticTokens({"secret": ADMIN}, (ISSUER,)),
            self.accounts,
            BootstrapTokens(self, (ISSUER,)),
        )
        self.authenticator = Authenticator(AUTHORITY.certificate, checkers, (ISSUER,), lambda: self.now)
        self.reviews = Reviews(self.authenticator, self.authorizer, lambda: self.now)
        self.tokens = TokenRequests(self, jwt.Signer(token_key()), ISSUER, (ISSUER,))
        for bucket, obj in bootstrap.initial_objects("") if roles else ():
            self.put(bucket, obj)

    def versions(self, bucket: str) -> int:
        """How often a bucket has changed."""
        return self.counts.get(bucket, 0)

    def put(self, bucket: str, obj: Object) -> Object:
        """Store an object; uid is its name unless it has one."""
        stored = copy.deepcopy(obj)
        metadata = stored["metadata"]
        metadata.setdefault("uid", f"uid-of-{metadata['name']}")
        self._write(bucket, metadata.get("namespace", ""), metadata["name"], stored)
        return stored

    def remove(self, bucket: str, namespace: str, name: str) -> None:
        """Delete an object."""
        self._write(bucket, namespace, name, None)

    def _write(self, bucket: str, namespace: str, name: str, obj: Object | None) -> None:
        place = (bucket, namespace, name)
        event = "DELETED" if obj is None else "MODIFIED" if place in self.objects else "ADDED"
        value = self.objects.pop(place, None) if obj is None else obj
        if obj is not None:
            self.objects[place] = obj
        self.counts[bucket] = self.versions(bucket) + 1
        if bucket == "pods":
            self.graph.observe(event, object_key(namespace, name), json.dumps(value).encode())

    def get(self, bucket: str, namespace: str, name: str) -> Object | None:
        """See `View.get`."""
        return copy.deepcopy(self.objects.get((bucket, namespace, name)))

    def list(self, bucket: str, namespace: str = "") -> Iterator[Object]:
        """See `View.list`."""
        for key in sorted(self.objects):
            if key[0] == bucket and namespace in {"", key[1]}:
                yield copy.deepcopy(self.objects[key])

    def grant(self, namespace: str, name: str, rules: Iterable[Any], *subjects: Any) -> None:
        """A Role and a RoleBinding of the same name; without a namespace, the cluster kinds."""
        kind = "Role" if namespace else "ClusterRole"
        plural = kind.lower()
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        reference = {"apiGroup": RBAC, "kind": kind, "name": name}
        self.put(f"{RBAC}/{plural}s", {"metadata": metadata, "rules": list(rules)})
        binding = {"metadata": metadata, "roleRef": reference, "subjects": list(subjects)}
        self.put(f"{RBAC}/{plural}bindings", binding)

    def refusal(self, attributes: Attributes) -> Any:
        """The Status of a refused request."""
        return refused(lambda: self.authorizer.require(attributes))


def refused(action: Any) -> Any:
    """The Status an action fails with."""
    try:
        action()
    except status.ApiError as error:
        return wire(error)
    raise AssertionError("the action was allowed")


def wire(error: status.ApiError) -> Any:
    """The Status as a client reads it."""
    return json.loads(status.encode(error.status))


def user(name: str) -> dict[str, str]:
    """A subject of a binding."""
    return {"kind": "User", "apiGroup": RBAC, "name": name}


def rule(verbs: str, groups: str, resources: str, names: str = "") -> dict[str, list[str]]:
    """A rule for resources; each argument is a list in words, a dot stands for the core group."""
    built = {
        "verbs": verbs.split(),
        "apiGroups": [group.strip(".") for group in groups.split()],
        "resources": resources.split(),
    }
    return built | ({"resourceNames": names.split()} if names else {})


def bound_pod(name: str, node: str, **spec: Any) -> Object:
    """A pod on a node, as the store has it."""
    metadata = {"name": name, "namespace": "rec-adm"}
    return {"metadata": metadata, "spec": {"nodeName": node, "serviceAccountName": "default", **spec}}


def recorded(file: str, *seqs: int) -> list[Any]:
    """Recorded requests of a file, all of them or those named."""
    return [row for row in _rows() if row["file"] == file and (not seqs or row["seq"] in seqs)]


def one(file: str, seq: int) -> Any:
    """One recorded request."""
    (row,) = recorded(file, seq)
    return row


@functools.cache
def _rows() -> list[Any]:
    return [json.loads(line) for line in (DATA / "recorded.jsonl").read_text().splitlines()]


def as_user(row: Any) -> User:
    """The identity a request was recorded under."""
    name = row.get("as_user", "admin")
    if name == "anonymous":
        return User(name="system:anonymous", groups=("system:unauthenticated",))
    if name == "token":
        account = "system:serviceaccount:rec-adm:default"
        groups = ("system:serviceaccounts", "system:serviceaccounts:rec-adm", "system:authenticated")
        return User(name=account, groups=groups)
    if name == "somebody in group system:nodes":
        return User(name="somebody", groups=("system:nodes", "system:authenticated"))
    group = {"admin": "system:masters", "alice": "devs"}.get(name, "system:nodes")
    return User(name=name, groups=(group, "system:authenticated"))


_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v\d\w*)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}


def attributes_of(row: Any, caller: User | None = None) -> Attributes:
    """What authorization is asked for a recorded request."""
    who, query = caller or as_user(row), row.get("query", {})
    match = _PATH.fullmatch(row["path"])
    if match is None:
        return Attributes(user=who, verb=_VERBS[row["method"]].lower(), path=row["path"])
    parts = {key: value or "" for key, value in match.groupdict().items()}
    selected = re.search(r"metadata\.name=([^,]+)", query.get("fieldSelector", ""))
    verb = _VERBS[row["method"]]
    if not parts["name"] and verb == "get":
        verb = "watch" if "watch" in query else "list"
        parts["name"] = selected[1] if selected else ""
    elif not parts["name"] and verb == "delete":
        verb = "deletecollection"
    selector = query.get("fieldSelector", "")
    return Attributes(user=who, verb=verb, path=row["path"], field_selector=selector, **parts)


def plain(value: Any) -> Any:
    """A Struct as a plain value."""
    return msgspec.to_builtins(value)
