"""Role-based access control: bindings give subjects the rules of roles.

A snapshot of all roles and bindings is kept until one of their buckets changes (`versions` counts), and the rules
that apply to a user in a namespace are kept with it; so a decision is normally a walk over a few rules. Rules only
add rights: a binding to a missing role grants nothing and is mentioned in the denial. Bindings apply in order of
name, cluster-wide ones first (upstream's order is that of a hash map).
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from flexlet.api import status
from flexlet.api.gotext import quote
from flexlet.apiserver.auth.rules import Rule, allows, rules_of
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import Attributes, Decision, User

GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = f"{GROUP}/roles"
ROLE_BINDINGS: Final = f"{GROUP}/rolebindings"
CLUSTER_ROLES: Final = f"{GROUP}/clusterroles"
CLUSTER_ROLE_BINDINGS: Final = f"{GROUP}/clusterrolebindings"
BUCKETS: Final = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS)

REMEMBERED: Final = 4096


class Grant(NamedTuple):
    """A rule that applies to somebody, and the binding it comes from."""

    rule: Rule
    source: str


class Resolved(NamedTuple):
    """Everything RBAC says about a user in a namespace."""

    grants: tuple[Grant, ...]
    faults: tuple[str, ...]


class Subject(msgspec.Struct, frozen=True):
    """Whom a binding names."""

    kind: str = ""
    name: str = ""
    namespace: str = ""

    def key(self, scope: str) -> tuple[str, str]:
        """What it is found by: a group or a user; an account without a namespace is one of the binding's."""
        if self.kind != "ServiceAccount":
            return self.kind, self.name
        place = self.namespace or scope
        return "User", f"system:serviceaccount:{place}:{self.name}" if place else ""

    def describe(self, scope: str) -> str:
        """The subject as reasons name it."""
        name = f"{self.name}/{self.namespace or scope}" if self.kind == "ServiceAccount" else self.name
        return f"{self.kind} {quote(name)}"


class Binding(NamedTuple):
    """A RoleBinding or, with an empty namespace, a ClusterRoleBinding."""

    namespace: str
    name: str
    subjects: tuple[Subject, ...]
    role_kind: str
    role_name: str

    @property
    def role(self) -> tuple[str, str]:
        """Where the role lies: its namespace, empty for a ClusterRole, and its name."""
        return (self.namespace if self.role_kind == "Role" else "", self.role_name)

    def source(self, user: User) -> str:
        """The binding as reasons name it, with the first of its subjects that is the user."""
        keys = {("User", user.name), *(("Group", group) for group in user.groups)}
        subject = next(subject for subject in self.subjects if subject.key(self.namespace) in keys)
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        role = f"{self.role_kind} {quote(self.role_name)}"
        return f"{kind} {quote(name)} of {role} to {subject.describe(self.namespace)}"


class Rbac:
    """Decides by the stored roles and bindings."""

    def __init__(self, view: View, versions: Callable[[str], int]) -> None:
        self._view = view
        self._versions = versions
        self._seen: tuple[int, ...] = ()
        self._roles: dict[tuple[str, str], tuple[Rule, ...]] = {}
        # Scope, kind and name of a subject -> the bindings that name it, by their names.
        self._bindings: dict[tuple[str, str, str], dict[str, Binding]] = {}
        self._resolved: dict[tuple[str, tuple[str, ...], str], Resolved] = {}

    def decide(self, attributes: Attributes) -> Decision:
        """Allow with the binding that does, or have no opinion, with what could not be resolved."""
        resolved = self.resolve(attributes.user, attributes.namespace)
        for rule, source in resolved.grants:
            if allows(rule, attributes):
                return Decision(allowed=True, reason=f"RBAC: allowed by {source}")
        return Decision(allowed=False, reason=f"RBAC: {aggregate(resolved.faults)}" if resolved.faults else "")

    def resolve(self, user: User, namespace: str) -> Resolved:
        """The rules that apply to a user in a namespace, or cluster-wide where it is empty."""
        self._refresh()
        key = (user.name, user.groups, namespace)
        found = self._resolved.get(key)
        if found is None:
            if len(self._resolved) >= REMEMBERED:
                self._resolved.clear()
            found = self._resolved[key] = self._resolve(user, namespace)
        return found

    def role_rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...]:
        """The rules of the role a binding in `namespace` refers to.

        Raises:
            NotFound: there is no such role.
        """
        self._refresh()
        rules = self._roles.get((namespace if kind == "Role" else "", name))
        if rules is None:
            raise status.not_found(f"{kind.lower()}s", GROUP, name)
        return rules

    def _resolve(self, user: User, namespace: str) -> Resolved:
        grants: list[Grant] = []
        faults: list[str] = []
        for binding in self._applying(user, namespace):
            rules = self._roles.get(binding.role)
            if rules is None:
                faults.append(f"{binding.role_kind.lower()}.{GROUP} {quote(binding.role_name)} not found")
                continue
            source = binding.source(user)
            grants += [Grant(rule, source) for rule in rules]
        return Resolved(tuple(grants), tuple(faults))

    def _applying(self, user: User, namespace: str) -> Iterable[Binding]:
        for scope in ("", namespace) if namespace else ("",):
            found: dict[str, Binding] = {}
            for kind, name in (("User", user.name), *(("Group", group) for group in user.groups)):
                found.update(self._bindings.get((scope, kind, name), {}))
            yield from (found[name] for name in sorted(found))

    def _refresh(self) -> None:
        seen = tuple(self._versions(bucket) for bucket in BUCKETS)
        if seen == self._seen:
            return
        self._resolved = {}
        self._roles = {
            (role["metadata"].get("namespace", ""), role["metadata"]["name"]): rules_of(role)
            for bucket in (CLUSTER_ROLES, ROLES)
            for role in self._view.list(bucket)
        }
        self._bindings = {}
        for bucket in (CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS):
            for stored in self._view.list(bucket):
                self._index(_binding(stored))
        self._seen = seen

    def _index(self, binding: Binding) -> None:
        for subject in binding.subjects:
            kind, name = subject.key(binding.namespace)
            if name:
                self._bindings.setdefault((binding.namespace, kind, name), {})[binding.name] = binding


def aggregate(faults: Iterable[str]) -> str:
    """Several errors as Go prints them together."""
    distinct = list(dict.fromkeys(faults))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _binding(stored: Object) -> Binding:
    reference: dict[str, Any] = stored.get("roleRef") or {}
    return Binding(
        namespace=stored["metadata"].get("namespace", ""),
        name=stored["metadata"]["name"],
        subjects=msgspec.convert(stored.get("subjects") or (), tuple[Subject, ...]),
        role_kind=reference.get("kind", ""),
        role_name=reference.get("name", ""),
    )
