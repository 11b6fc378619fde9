"""Accounts of pods: tokens, pull secrets, and the secrets they may use."""

from typing import Any

import pytest
from tests.apiserver.admission.world import World, forbidden_of, new_world, pod, refused, request_of

from flexlet.apiserver.admission.service_account import token_projection

MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


async def test_the_token_is_mounted_where_nothing_else_is() -> None:
    """Every container has one mount at the place, its own or the token's, and one volume serves all."""
    own = {"name": "mine", "mountPath": MOUNT}
    containers = [{"name": "a", "volumeMounts": [own]}, {"name": "b"}]
    obj = pod(containers=containers, initContainers=[{"name": "i"}], volumes=[{"name": "mine"}])
    spec = (await new_world().create("pods", obj, "ns"))["spec"]
    name = spec["volumes"][1]["name"]
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT}
    assert spec["volumes"] == [{"name": "mine"}, {"name": name, "projected": token_projection()}]
    assert [c["volumeMounts"] for c in (*spec["initContainers"], *spec["containers"])] == [[mount], [own], [mount]]


async def test_a_token_volume_of_the_pods_own_is_used() -> None:
    obj = pod(volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}])
    spec = (await new_world().create("pods", obj, "ns"))["spec"]
    assert spec["volumes"] == [{"name": "kube-api-access-mine", "emptyDir": {}}]
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == ["kube-api-access-mine"]


@pytest.mark.parametrize(
    ("account", "spec", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
async def test_the_pod_decides_about_the_token_before_the_account(account: Any, spec: Any, mounted: bool) -> None:
    world = new_world()
    world.put("serviceaccounts", {"metadata": {"name": "default"}, "automountServiceAccountToken": account}, "ns")
    obj = await world.create("pods", pod(automountServiceAccountToken=spec), "ns")
    assert ("volumes" in obj["spec"]) is mounted


@pytest.mark.parametrize(("given", "result"), [(None, [{"name": "pull"}]), ([{"name": "own"}], [{"name": "own"}])])
async def test_pull_secrets_come_from_the_account(given: Any, result: Any) -> None:
    world = new_world()
    world.put("serviceaccounts", {"metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "pull"}]}, "ns")
    spec = {"serviceAccountName": "sa", "imagePullSecrets": given}
    obj = await world.create("pods", pod(**spec), "ns")
    assert (obj["spec"]["imagePullSecrets"], obj["spec"]["serviceAccount"]) == (result, "sa")


async def test_a_pod_needs_its_account() -> None:
    detail = 'error looking up service account ns/a"b: serviceaccount "a\\"b" not found'
    assert await refused(new_world(), pod(serviceAccountName='a"b')) == forbidden_of("pods", "p", detail)


LISTED = "is not allowed because service account sa does not reference that"


def add_strict_account(world: World) -> None:
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account = {
        "metadata": {"name": "sa", "annotations": annotations},
        "secrets": [{"name": "good"}],
        "imagePullSecrets": [{"name": "pull"}],
    }
    world.put("serviceaccounts", account, "ns")


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            f'volume with secret.secretName="other" {LISTED} secret',
        ),
        (
            {"containers": [{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "x"}}}]}]},
            f'container c with envVar E referencing secret.secretName="x" {LISTED} secret',
        ),
        (
            {"initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "x"}}]}]},
            f'init container i with envFrom referencing secret.secretName="x" {LISTED} secret',
        ),
        (
            {"imagePullSecrets": [{"name": "pull"}, {"name": "x"}]},
            f'imagePullSecrets[1].name="x" {LISTED} imagePullSecret',
        ),
    ],
)
async def test_an_account_may_limit_the_secrets_of_its_pods(spec: Any, detail: str) -> None:
    world = new_world()
    add_strict_account(world)
    obj = pod(**{"serviceAccountName": "sa", **spec})
    assert await refused(world, obj) == forbidden_of("pods", "p", detail)


async def test_listed_secrets_are_fine() -> None:
    world = new_world()
    add_strict_account(world)
    env = [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "good"}}}, {"name": "F", "value": "x"}]
    volumes = [{"name": "v", "secret": {"secretName": "good"}}]
    obj = pod(serviceAccountName="sa", containers=[{"name": "c", "env": env}], volumes=volumes)
    assert (await world.create("pods", obj, "ns"))["spec"]["imagePullSecrets"] == [{"name": "pull"}]


async def test_pods_without_an_account_get_no_ephemeral_containers() -> None:
    """Mirror pods have none."""
    request = request_of("UPDATE", "pods", pod(), "ns", old=pod(), subresource="ephemeralcontainers")
    detail = "no service account specified for pod ns/p"
    assert await new_world().refusal(request) == forbidden_of("pods", "p", detail)


async def test_ephemeral_containers_are_held_to_the_same_secrets() -> None:
    world = new_world()
    add_strict_account(world)
    debug = {"name": "d", "envFrom": [{"secretRef": {"name": "x"}}]}
    old = pod(serviceAccountName="sa")
    request = request_of(
        "UPDATE",
        "pods",
        pod(serviceAccountName="sa", ephemeralContainers=[debug]),
        "ns",
        old=old,
        subresource="ephemeralcontainers",
    )
    assert await world.refusal(request) == forbidden_of(
        "pods", "p", f'ephemeral container d with envFrom referencing secret.secretName="x" {LISTED} secret'
    )


async def test_mirror_pods_are_not_changed_by_accounts() -> None:
    obj = pod()
    obj["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "h"}
    spec = (await new_world().create("pods", obj, "ns"))["spec"]
    assert "serviceAccountName" not in spec
    assert "volumes" not in spec


async def test_mirror_pods_project_no_tokens() -> None:
    sources = [{"serviceAccountToken": {"path": "t"}}]
    obj = pod(volumes=[{"name": "v", "projected": {"sources": sources}}])
    obj["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "h"}
    assert await refused(new_world(), obj) == forbidden_of(
        "pods", "p", "a mirror pod may not use ServiceAccountToken volume projections"
    )
