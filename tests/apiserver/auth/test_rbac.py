"""RBAC: which rules apply to whom, what they match, when a change takes effect."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.auth.world import ALICE, RBAC, World, rule, user

from flexlet.apiserver.auth import rbac
from flexlet.apiserver.auth.rules import FULL_AUTHORITY, Rule, allows, compact, describe, missing
from flexlet.apiserver.contract.request import Attributes, Decision, User

GET_POD = Attributes(user=ALICE, verb="get", resource="pods", namespace="ns", name="p")


@pytest.fixture
def world() -> World:
    return World(roles=False)


def binding(name: str, kind: str, role: str, *subjects: Any, namespace: str = "ns") -> Any:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    reference = {"apiGroup": RBAC, "kind": kind, "name": role}
    return {"metadata": metadata, "roleRef": reference, "subjects": list(subjects)}


def test_the_reason_names_binding_role_and_subject(world: World) -> None:
    """An allowed request says which binding allows it."""
    world.grant("ns", "r", [rule("get", ".", "pods")], user("bob"), {"kind": "Group", "name": "devs"})
    reason = 'RBAC: allowed by RoleBinding "r/ns" of Role "r" to Group "devs"'
    assert world.authorizer.decide(GET_POD) == Decision(allowed=True, reason=reason)


def test_an_account_without_a_namespace_is_one_of_the_bindings(world: World) -> None:
    """A RoleBinding's ServiceAccount defaults to its own namespace."""
    world.grant("ns", "r", [rule("get", ".", "pods")], {"kind": "ServiceAccount", "name": "sa"})
    attributes = msgspec.structs.replace(GET_POD, user=User(name="system:serviceaccount:ns:sa"))
    reason = 'RBAC: allowed by RoleBinding "r/ns" of Role "r" to ServiceAccount "sa/ns"'
    assert world.authorizer.decide(attributes) == Decision(allowed=True, reason=reason)


def test_a_cluster_role_bound_in_a_namespace_reaches_that_namespace_only(world: World) -> None:
    """A RoleBinding narrows a ClusterRole to its namespace."""
    world.put(f"{RBAC}/clusterroles", {"metadata": {"name": "viewer"}, "rules": [rule("get", ".", "pods")]})
    world.put(f"{RBAC}/rolebindings", binding("b", "ClusterRole", "viewer", user("alice")))
    reason = 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "viewer" to User "alice"'
    assert world.authorizer.decide(GET_POD) == Decision(allowed=True, reason=reason)
    assert world.authorizer.decide(msgspec.structs.replace(GET_POD, namespace="other")) == Decision(allowed=False)


def test_missing_roles_are_mentioned_in_the_denial(world: World) -> None:
    """A binding to a role that is not there grants nothing and says so."""
    world.put(f"{RBAC}/clusterrolebindings", binding("a", "ClusterRole", "gone", user("alice"), namespace=""))
    world.put(f"{RBAC}/rolebindings", binding("b", "Role", "lost", user("alice")))
    faults = f'[clusterrole.{RBAC} "gone" not found, role.{RBAC} "lost" not found]'
    assert world.authorizer.decide(GET_POD) == Decision(allowed=False, reason=f"RBAC: {faults}")
    assert world.refusal(GET_POD)["message"] == (
        'pods "p" is forbidden: User "alice" cannot get resource "pods" in API group "" '
        f'in the namespace "ns": RBAC: {faults}'
    )


def test_changes_take_effect_at_once(world: World) -> None:
    """Nothing derived from roles outlives a change of them."""
    assert not world.authorizer.decide(GET_POD).allowed
    world.grant("ns", "r", [rule("get", ".", "pods")], user("alice"))
    assert world.authorizer.decide(GET_POD).allowed
    world.remove(f"{RBAC}/roles", "ns", "r")
    assert not world.authorizer.decide(GET_POD).allowed
    world.grant("ns", "r", [rule("get", ".", "pods")], user("alice"))
    world.remove(f"{RBAC}/rolebindings", "ns", "r")
    assert not world.authorizer.decide(GET_POD).allowed


def test_reasons_of_both_authorizers_are_shown(world: World) -> None:
    """A node's refusal carries the Node authorizer's reason and RBAC's."""
    node = User(name="system:node:n", groups=("system:nodes",))
    world.put(f"{RBAC}/clusterrolebindings", binding("a", "ClusterRole", "gone", user(node.name), namespace=""))
    attributes = Attributes(user=node, verb="list", resource="secrets", namespace="ns")
    reason = f'No Object name found\nRBAC: clusterrole.{RBAC} "gone" not found'
    assert world.authorizer.decide(attributes) == Decision(allowed=False, reason=reason)


@pytest.mark.parametrize(
    ("granted", "asked", "allowed"),
    [
        (rule("get", ".", "pods"), {"verb": "get", "resource": "pods"}, True),
        (rule("get", ".", "pods"), {"verb": "get", "resource": "pods", "subresource": "log"}, False),
        (rule("get", ".", "pods/log"), {"verb": "get", "resource": "pods", "subresource": "log"}, True),
        (rule("get", ".", "*/log"), {"verb": "get", "resource": "pods", "subresource": "log"}, True),
        (rule("get", ".", "*/log"), {"verb": "get", "resource": "log"}, False),
        (rule("*", "*", "*"), {"verb": "patch", "resource": "pods", "subresource": "resize"}, True),
        (rule("get", "apps", "*"), {"verb": "get", "resource": "pods"}, False),
        (rule("get list create", ".", "pods", "a"), {"verb": "get", "resource": "pods", "name": "a"}, True),
        (rule("get list create", ".", "pods", "a"), {"verb": "list", "resource": "pods", "name": "a"}, True),
        (rule("get list create", ".", "pods", "a"), {"verb": "list", "resource": "pods"}, False),
        (rule("get list create", ".", "pods", "a"), {"verb": "create", "resource": "pods"}, False),
        ({"verbs": ["get"], "nonResourceURLs": ["/logs/*"]}, {"verb": "get", "path": "/logs/a"}, True),
        ({"verbs": ["get"], "nonResourceURLs": ["/logs"]}, {"verb": "get", "path": "/logs/a"}, False),
        ({"verbs": ["get"], "nonResourceURLs": ["*"]}, {"verb": "get", "resource": "pods"}, False),
        (rule("*", "*", "*"), {"verb": "get", "path": "/logs"}, False),
    ],
)
def test_what_a_rule_matches(granted: Any, asked: Any, allowed: bool) -> None:
    """Verb, group, resource with subresource, and name must all fit; paths are a world of their own."""
    assert allows(msgspec.convert(granted, Rule), Attributes(user=ALICE, **asked)) is allowed


WORDS = st.lists(st.sampled_from(["a", "b", "a/x", "b/x", "*/x", "*"]), min_size=1, max_size=3).map(tuple)
RESOURCE_RULES = st.builds(
    Rule, verbs=WORDS, api_groups=WORDS, resources=WORDS, resource_names=st.just(()) | WORDS
)
PATH_RULES = st.builds(Rule, verbs=WORDS, non_resource_urls=WORDS)
RULES = RESOURCE_RULES | PATH_RULES


@given(RULES)
def test_a_rule_covers_itself_and_full_authority_covers_everything(held: Rule) -> None:
    """Covering is reflexive; cluster-admin lacks nothing."""
    assert missing([held], [held]) == []
    assert missing(FULL_AUTHORITY, [held]) == []


@given(
    st.lists(RULES, max_size=3),
    RULES,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["", "x"]),
    st.sampled_from(["", "a", "b"]),
)
def test_covered_rules_allow_nothing_new(
    held: list[Rule], wanted: Rule, word: str, subresource: str, name: str
) -> None:
    """Whatever a covered rule allows, a held rule allows already."""
    asked = Attributes(user=ALICE, verb=word, group=word, resource=word, subresource=subresource, name=name)
    if not missing(held, [wanted]) and allows(wanted, asked):
        assert any(allows(rule, asked) for rule in held)


@given(st.lists(RULES, max_size=4))
def test_compacting_loses_nothing(wanted: list[Rule]) -> None:
    """What is missing reads shorter after compacting and means the same."""
    atoms = missing([], wanted)
    assert missing(compact(atoms), atoms) == []
    assert missing(atoms, compact(atoms)) == []


def test_rules_are_described_as_go_prints_them() -> None:
    """The order of the parts is upstream's."""
    shown = Rule(verbs=("get", "list"), api_groups=("",), resources=("pods",), resource_names=('a"b',))
    assert describe(shown) == r'{APIGroups:[""], Resources:["pods"], ResourceNames:["a\"b"], Verbs:["get" "list"]}'


def test_what_is_remembered_of_users_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user is asked about again rather than kept for ever: anybody can come under many names."""
    monkeypatch.setattr(rbac, "REMEMBERED", 3)
    asked: list[str] = []

    class Counted(rbac.Rbac):
        def _resolve(self, user: User, namespace: str) -> rbac.Resolved:
            asked.append(user.name)
            return super()._resolve(user, namespace)

    authorizer = Counted(World(roles=False), lambda _: 1)
    for name in "aabcacdada":
        authorizer.resolve(User(name=name), "")
    assert "".join(asked) == "abcda"
    assert len(authorizer._resolved) <= 3
