"""Impersonation: whom the headers ask for, who may, and what becomes of the groups."""

from typing import Any

import msgspec
import pytest
from tests.apiserver.auth.world import ADMIN, ALICE, World, attributes_of, one, refused, rule, user

from flexlet.apiserver.auth import impersonate
from flexlet.apiserver.contract.request import Attributes, User

LIST_PODS = Attributes(user=ALICE, verb="list", resource="pods", namespace="ns")


@pytest.fixture
def world() -> World:
    return World()


def resolve(world: World, headers: Any, caller: User = ALICE) -> User | None:
    wanted = impersonate.wanted_user(headers)
    attributes = msgspec.structs.replace(LIST_PODS, user=caller)
    return None if wanted is None else impersonate.impersonated(wanted, attributes, world.authorizer)


@pytest.mark.parametrize("seq", [45, 46, 47])
def test_recorded_impersonations_end_in_the_same_refusal(world: World, seq: int) -> None:
    """Without the right the impersonation itself is refused; with it, the request as the other user."""
    row = one("errors", seq)

    def request() -> None:
        attributes = attributes_of(row)
        wanted = impersonate.wanted_user(row["request_headers"])
        assert wanted is not None
        acting = impersonate.impersonated(wanted, attributes, world.authorizer)
        world.authorizer.require(msgspec.structs.replace(attributes, user=acting))

    assert refused(request) == row["response_body"]


def test_without_headers_nobody_is_impersonated() -> None:
    """The usual request."""
    assert impersonate.wanted_user({"Authorization": "Bearer x", "Accept": "*/*"}) is None


def test_header_names_are_case_insensitive_and_extra_keys_are_unescaped() -> None:
    """HTTP does not care about case; keys travel percent-encoded."""
    headers = {
        "impersonate-user": "bob",
        "IMPERSONATE-UID": "7",
        "Impersonate-Group": "g",
        "Impersonate-Extra-example.com%2Fscope": "a",
    }
    expected = User(name="bob", uid="7", groups=("g",), extra={"example.com/scope": ("a",)})
    assert impersonate.wanted_user(headers) == expected


def test_groups_without_a_user_are_a_bad_request() -> None:
    """One impersonates somebody or nobody."""
    answer = refused(lambda: impersonate.wanted_user({"Impersonate-Group": "g"}))
    wanted = '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)}'
    message = f"requested {wanted} without impersonating a user name"
    assert (answer["code"], answer["message"]) == (400, message)


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        ({"Impersonate-User": "bob"}, ("system:authenticated",)),
        ({"Impersonate-User": "bob", "Impersonate-Group": "g"}, ("g", "system:authenticated")),
        (
            {"Impersonate-User": "bob", "Impersonate-Group": "system:unauthenticated"},
            ("system:unauthenticated",),
        ),
        (
            {"Impersonate-User": "bob", "Impersonate-Group": "system:authenticated"},
            ("system:authenticated",),
        ),
        ({"Impersonate-User": "system:anonymous"}, ("system:unauthenticated",)),
        (
            {"Impersonate-User": "system:serviceaccount:ns:sa"},
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        ),
        ({"Impersonate-User": "system:node:n"}, ("system:nodes", "system:authenticated")),
    ],
)
def test_groups_come_with_the_user(world: World, headers: Any, groups: tuple[str, ...]) -> None:
    """Accounts and nodes bring their fixed groups, everybody the one of the authenticated."""
    assert resolve(world, headers, ADMIN) == User(name=headers["Impersonate-User"], groups=groups)


def test_the_old_verb_is_enough_and_covers_each_part(world: World) -> None:
    """Verb impersonate on users, groups, uids and userextras, each by name."""
    world.grant("", "i", [rule("impersonate", ".", "users groups", "bob g")], user("alice"))
    headers = {"Impersonate-User": "bob", "Impersonate-Group": "g"}
    assert resolve(world, headers) == User(name="bob", groups=("g", "system:authenticated"))
    for more in ({"Impersonate-Group": "other"}, {"Impersonate-Uid": "7"}, {"Impersonate-Extra-scope": "a"}):
        assert refused(lambda more=more: resolve(world, headers | more))["code"] == 403
    group = "authentication.k8s.io"
    world.grant("", "j", [rule("impersonate", group, "uids userextras/scope", "7 a")], user("alice"))
    full = headers | {"Impersonate-Uid": "7", "Impersonate-Extra-scope": "a"}
    expected = User(name="bob", uid="7", groups=("g", "system:authenticated"), extra={"scope": ("a",)})
    assert resolve(world, full) == expected


def test_constrained_impersonation_needs_both_rights(world: World) -> None:
    """The right to be the user and the right to do just this while being it."""
    group = "authentication.k8s.io"
    world.grant("", "who", [rule("impersonate:user-info", group, "users", "bob")], user("alice"))
    assert refused(lambda: resolve(world, {"Impersonate-User": "bob"}))["code"] == 403
    world.grant("ns", "what", [rule("impersonate-on:user-info:list", ".", "pods")], user("alice"))
    assert resolve(world, {"Impersonate-User": "bob"}) == User(name="bob", groups=("system:authenticated",))
    masters = {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}
    assert refused(lambda: resolve(world, masters))["message"] == (
        'groups.authentication.k8s.io "system:masters" is forbidden: User "alice" cannot impersonate:user-info '
        'resource "groups" in API group "authentication.k8s.io" at the cluster scope: '
        "impersonating the system:masters group is not allowed"
    )


def test_an_account_may_be_its_own_node_only(world: World) -> None:
    """The associated-node mode looks at the node the caller's token is bound to."""
    node: dict[str, tuple[str, ...]] = {"authentication.kubernetes.io/node-name": ("n",)}
    account = User(name="system:serviceaccount:ns:sa", groups=("system:authenticated",), extra=node)
    rules = [
        rule("impersonate:associated-node", "authentication.k8s.io", "nodes"),
        rule("impersonate-on:associated-node:list", ".", "pods"),
    ]
    world.grant("", "own-node", rules, user(account.name))
    expected = User(name="system:node:n", groups=("system:nodes", "system:authenticated"))
    assert resolve(world, {"Impersonate-User": "system:node:n"}, account) == expected
    assert refused(lambda: resolve(world, {"Impersonate-User": "system:node:m"}, account))["code"] == 403
