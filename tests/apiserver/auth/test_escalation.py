"""Nobody hands out rights they do not have."""

from typing import Any

import pytest
from tests.apiserver.auth.world import ADMIN, ALICE, RBAC, World, one, refused, rule, user

from flexlet.api import status
from flexlet.apiserver.auth.escalation import RbacEscalation
from flexlet.apiserver.auth.rules import Rule, missing
from flexlet.apiserver.contract.kind import Kind, Strategy
from flexlet.apiserver.contract.request import AdmissionRequest, User


@pytest.fixture
def world() -> World:
    world = World()
    world.grant("rec-adm", "ra", [rule("get list", ".", "pods")], user("alice"))
    return world


def kind(name: str) -> Kind:
    return Kind(
        group=RBAC,
        version="v1",
        kind=name,
        plural=f"{name.lower()}s",
        singular=name.lower(),
        namespaced=not name.startswith("Cluster"),
        strategy=Strategy(),
    )


def write(world: World, name: str, obj: Any, old: Any = None, caller: User = ALICE) -> None:
    of = kind(name)
    request = AdmissionRequest(
        operation="CREATE" if old is None else "UPDATE",
        user=caller,
        kind=of,
        subresource="",
        namespace="rec-adm" if of.namespaced else "",
        name=obj["metadata"]["name"],
        obj=obj,
        old=old,
    )
    RbacEscalation(world.authorizer).mutate(request, world)


def passes(world: World, name: str, obj: Any, old: Any = None, caller: User = ALICE) -> bool:
    try:
        write(world, name, obj, old, caller)
    except status.Forbidden:
        return False
    return True


@pytest.mark.parametrize(("seq", "name"), [(153, "Role"), (155, "RoleBinding")])
def test_recorded_escalations_are_refused_with_the_same_status(world: World, seq: int, name: str) -> None:
    """A role or binding beyond the writer's rights lists what is lacking."""
    row = one("admission", seq)
    assert refused(lambda: write(world, name, row["request_body"])) == row["response_body"]


def test_a_role_within_ones_rights_passes(world: World) -> None:
    """Recorded: alice creates a role that gets pods."""
    row = one("admission", 154)
    assert passes(world, "Role", row["request_body"])


def test_masters_need_no_rules_to_give_rights() -> None:
    """Where every role was deleted by mistake, they are who can write them again."""
    bare, anything = World(roles=False), {"metadata": {"name": "r"}, "rules": [rule("*", "*", "*")]}
    assert not passes(bare, "Role", anything)
    assert passes(bare, "Role", anything, caller=User(name="root", groups=("system:masters",)))


def test_missing_rights_are_joined_by_verb_and_sorted(world: World) -> None:
    """One line per resource, in order of its text."""
    rules = [rule("get watch", ". apps", "secrets pods"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}]
    answer = refused(lambda: write(world, "Role", {"metadata": {"name": "r"}, "rules": rules}))
    assert answer["message"].splitlines()[1:] == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "watch"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "watch"]}',
        '{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "watch"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    ]


def test_escalate_and_bind_are_rights_of_their_own(world: World) -> None:
    """Who may escalate writes any role; who may bind a role binds that one."""
    role = {"metadata": {"name": "r"}, "rules": [rule("*", "*", "*")]}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
    binding = {"metadata": {"name": "b"}, "roleRef": reference}
    other = {"metadata": {"name": "b"}, "roleRef": reference | {"name": "edit"}}
    world.grant("rec-adm", "e", [rule("escalate", RBAC, "roles")], user("alice"))
    world.grant("rec-adm", "b", [rule("bind", RBAC, "clusterroles", "view")], user("alice"))
    assert passes(world, "Role", role)
    assert passes(world, "RoleBinding", binding)
    assert not passes(world, "RoleBinding", other)
    assert not passes(world, "ClusterRole", role)


def test_a_binding_to_a_missing_role_is_not_found(world: World) -> None:
    """Without verb bind the role's rules must be known."""
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "gone"}
    answer = refused(lambda: write(world, "RoleBinding", {"metadata": {"name": "b"}, "roleRef": reference}))
    assert (answer["code"], answer["message"]) == (404, f'clusterroles.{RBAC} "gone" not found')


def test_an_aggregation_rule_needs_everything(world: World) -> None:
    """It can gather any rule, so only who holds all may set or change one."""
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    plain = {"metadata": {"name": "r"}, "rules": []}
    gathering = plain | {"aggregationRule": selectors}
    expected = (
        f'clusterroles.{RBAC} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule'
    )
    assert refused(lambda: write(world, "ClusterRole", gathering))["message"] == expected
    assert refused(lambda: write(world, "ClusterRole", plain, gathering))["message"] == expected
    world.grant("", "all", [rule("*", "*", "*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}], user("alice"))
    assert passes(world, "ClusterRole", gathering)


def test_what_a_collector_changes_needs_no_rights(world: World) -> None:
    """Finalizers and owners may go so that the object can."""
    role = {"metadata": {"name": "r", "finalizers": ["x"]}, "rules": [rule("*", "*", "*")]}
    assert passes(world, "Role", {"metadata": {"name": "r"}, "rules": role["rules"]}, role)
    changed = {"metadata": {"name": "r", "labels": {"a": "b"}}, "rules": role["rules"]}
    assert not passes(world, "Role", changed, role)


def test_administrators_are_not_asked(world: World) -> None:
    """The group system:masters holds everything, whatever its roles say."""
    everything = {"metadata": {"name": "r"}, "rules": [rule("*", "*", "*")]}
    assert passes(world, "Role", everything, caller=ADMIN)
    assert not passes(world, "Role", everything)


SECRETS = Rule(verbs=("get",), api_groups=("",), resources=("secrets",))
LOGS = Rule(verbs=("get",), api_groups=("",), resources=("pods/log",))
NAMED = Rule(verbs=("get",), api_groups=("",), resources=("secrets",), resource_names=("a",))
PAGE = Rule(verbs=("get",), non_resource_urls=("/logs/a",))


@pytest.mark.parametrize(
    ("held", "wanted", "covered"),
    [
        (SECRETS, SECRETS, True),
        (Rule(verbs=("*",), api_groups=("*",), resources=("*",)), SECRETS, True),
        (Rule(verbs=("list",), api_groups=("",), resources=("secrets",)), SECRETS, False),
        (Rule(verbs=("get",), api_groups=("apps",), resources=("secrets",)), SECRETS, False),
        (Rule(verbs=("get",), api_groups=("",), resources=("configmaps",)), SECRETS, False),
        (NAMED, SECRETS, False),
        (SECRETS, NAMED, True),
        (NAMED, NAMED, True),
        (Rule(verbs=("get",), api_groups=("",), resources=("secrets",), resource_names=("b",)), NAMED, False),
        (Rule(verbs=("get",), api_groups=("",), resources=("*/log",)), LOGS, True),
        (Rule(verbs=("get",), api_groups=("",), resources=("pods",)), LOGS, False),
        (Rule(verbs=("get",), api_groups=("",), resources=("*/exec",)), LOGS, False),
        (Rule(verbs=("get",), api_groups=("",), resources=("*/",)), SECRETS, False),
        (PAGE, PAGE, True),
        (Rule(verbs=("get",), non_resource_urls=("/logs/*",)), PAGE, True),
        (Rule(verbs=("get",), non_resource_urls=("/logs/",)), PAGE, False),
        (Rule(verbs=("get",), non_resource_urls=("/metrics",)), PAGE, False),
        (Rule(verbs=("post",), non_resource_urls=("/logs/a",)), PAGE, False),
        (SECRETS, PAGE, False),
        (PAGE, SECRETS, False),
    ],
)
def test_a_rule_covers_another_in_every_respect_or_not_at_all(held: Rule, wanted: Rule, covered: bool) -> None:
    """Verb, group, resource, name and path: one that is not held is an escalation."""
    assert missing([held], [wanted]) == ([] if covered else [wanted])
