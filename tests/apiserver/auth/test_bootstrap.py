"""What a new server starts with, and how aggregated roles are filled."""

import json
from typing import Any

import pytest
from tests.apiserver.auth.world import DATA, NOW, World, one

from flexlet.apiserver.auth import bootstrap, kubeletclient
from flexlet.apiserver.auth.aggregation import outdated
from flexlet.apiserver.auth.rbac import BUCKETS, CLUSTER_ROLES
from flexlet.apiserver.auth.rules import Rule
from flexlet.apiserver.auth.versions import Versions
from flexlet.apiserver.contract.kind import Object

SERVER_SET = {"uid", "resourceVersion", "creationTimestamp", "managedFields"}


def listed() -> list[Any]:
    rows = [json.loads(line) for line in (DATA / "bootstrap.jsonl").read_text().splitlines()]
    return [row for row in rows if "items" in row["response_body"]]


def without_server_fields(obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SERVER_SET}
    return {key: value for key, value in obj.items() if key not in {"kind", "apiVersion"}} | {"metadata": metadata}


@pytest.mark.parametrize("row", listed(), ids=lambda row: row["path"].split("/")[-1])
async def test_a_new_server_has_the_recorded_objects(row: Any) -> None:
    """Everything an upstream server lists right after its start, of the kinds and controllers we have.

    One binding is ours: upstream's kubelet client gets its rights from whoever sets the cluster up.
    """
    world = World(roles=False)
    await bootstrap.ensure(bootstrap.initial_objects("pem"), world, _create_in(world), NOW)
    group, _, plural = row["path"].removeprefix("/apis/").removeprefix("/api/").partition("/v1/")
    bucket = plural or row["path"].removeprefix("/api/v1/")
    every = world.list(f"{group}/{plural}" if plural else bucket)
    found = [obj for obj in every if obj["metadata"]["name"] != kubeletclient.BINDING]
    assert [without_server_fields(obj) for obj in found] == [
        without_server_fields(item) for item in row["response_body"]["items"]
    ]


def _create_in(world: World) -> bootstrap.Create:
    async def create(bucket: str, obj: Object) -> None:
        world.put(bucket, obj)

    return create


async def test_only_what_is_missing_is_written() -> None:
    """A changed default role stays changed; a restart writes nothing."""
    world = World(roles=False)
    objects = bootstrap.initial_objects("pem")
    changed = {"metadata": {"name": "view", "uid": "mine"}, "rules": []}
    world.put(CLUSTER_ROLES, changed)
    assert await bootstrap.ensure(objects, world, _create_in(world), NOW) == len(objects) - 1
    assert world.get(CLUSTER_ROLES, "", "view") == changed
    assert await bootstrap.ensure(objects, world, _create_in(world), NOW) == 0


async def test_written_objects_are_finished() -> None:
    """The uid and the time are set, and the shared data is not changed by it."""
    world = World(roles=False)
    await bootstrap.ensure(bootstrap.initial_objects("pem"), world, _create_in(world), NOW)
    namespaces = list(world.list("namespaces"))
    assert len({namespace["metadata"]["uid"] for namespace in namespaces}) == 4
    assert {namespace["metadata"]["creationTimestamp"] for namespace in namespaces} == {"2027-01-15T08:00:00Z"}
    assert list(namespaces[0]["metadata"]) == ["name", "uid", "creationTimestamp", "labels"]
    assert all("uid" not in placed.obj["metadata"] for placed in bootstrap.initial_objects(""))
    client_ca = world.get("configmaps", "kube-system", "extension-apiserver-authentication")
    assert client_ca is not None
    assert client_ca["data"] == {"client-ca-file": "pem"}


def test_the_fixed_node_rules_are_those_of_the_role() -> None:
    """The Node authorizer needs no stored role."""
    first = Rule(verbs=("create",), api_groups=("authentication.k8s.io",), resources=("tokenreviews",))
    assert bootstrap.node_rules()[0] == first


def test_default_roles_are_aggregated_already() -> None:
    """admin, edit and view come filled; nothing is left to do at the first start."""
    roles = [placed.obj for placed in bootstrap.initial_objects("") if placed.bucket == CLUSTER_ROLES]
    assert outdated(roles) == {}


def test_a_labelled_role_is_gathered() -> None:
    """Recorded: a role labelled for view changes view, and through it edit and admin later."""
    roles = [placed.obj for placed in bootstrap.initial_objects("") if placed.bucket == CLUSTER_ROLES]
    added = one("admission", 157)["request_body"]
    view = one("admission", 156)["response_body"]
    changed = outdated([*roles, added])
    # In order of name the new role comes before system:aggregate-to-view.
    assert changed == {"view": [*added["rules"], *view["rules"]]}


def test_equal_rules_are_gathered_once_and_never_from_itself() -> None:
    """Selector by selector, role by role."""
    shared = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    labels = {"a": "1"}
    roles: list[Object] = [
        {"metadata": {"name": "b", "labels": labels}, "rules": [shared]},
        {"metadata": {"name": "a", "labels": labels}, "rules": [shared, {"verbs": ["*"]}]},
        {
            "metadata": {"name": "self", "labels": labels},
            "rules": [{"verbs": ["old"]}],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}, {}]},
        },
    ]
    assert outdated(roles) == {"self": [shared, {"verbs": ["*"]}]}


def test_versions_count_the_changes_of_each_bucket() -> None:
    """A change of one bucket leaves the others' count alone."""
    callbacks: dict[str, Any] = {}
    versions = Versions(lambda bucket, callback: callbacks.update({bucket: callback}), BUCKETS)
    callbacks[CLUSTER_ROLES](object())
    callbacks[CLUSTER_ROLES](object())
    assert [versions(bucket) for bucket in BUCKETS] == [2, 0, 0, 0]


def test_the_two_objects_that_are_the_servers_own() -> None:
    """The map with the CA, and the binding that lets its own client use nodes; no recording has them."""
    own = {"extension-apiserver-authentication", "flexlet:kubelet-api-admin"}
    group = "rbac.authorization.k8s.io"
    assert [placed for placed in bootstrap.initial_objects("pem") if placed.obj["metadata"]["name"] in own] == [
        bootstrap.Placed(
            "configmaps",
            {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
                "data": {"client-ca-file": "pem"},
            },
        ),
        bootstrap.Placed(
            f"{group}/clusterrolebindings",
            {
                "kind": "ClusterRoleBinding",
                "apiVersion": f"{group}/v1",
                "metadata": {"name": "flexlet:kubelet-api-admin"},
                "subjects": [{"kind": "Group", "apiGroup": group, "name": "flexlet:kubelet-api-clients"}],
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:kubelet-api-admin"},
            },
        ),
    ]
