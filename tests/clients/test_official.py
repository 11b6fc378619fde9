"""The official Python client, unchanged: typed, dynamic and watching."""

import threading
from collections.abc import Iterator

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from tests.clients import manifests
from tests.servers import Running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def api(server: Running) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(server.kubeconfig)) as opened:
        yield opened


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core: client.CoreV1Api, name: str) -> str:
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    core.read_namespaced_service_account("default", name)
    return name


def test_pods_are_created_read_patched_and_deleted(core: client.CoreV1Api, namespace: str) -> None:
    """The typed API's models survive the way there and back."""
    resources = client.V1ResourceRequirements(requests={"cpu": "100m"})
    container = client.V1Container(name="c", image="i", resources=resources)
    meta = client.V1ObjectMeta(name="p", labels={"a": "1"})
    body = client.V1Pod(metadata=meta, spec=client.V1PodSpec(containers=[container]))
    created = core.create_namespaced_pod(namespace, body)
    assert (created.metadata.namespace, created.status.phase) == (namespace, "Pending")
    assert created.status.qos_class == "Burstable"
    patched = core.patch_namespaced_pod("p", namespace, {"metadata": {"labels": {"b": "2"}}})
    assert patched.metadata.labels == {"a": "1", "b": "2"}
    listed = core.list_namespaced_pod(namespace, label_selector="b=2")
    assert [pod.metadata.name for pod in listed.items] == ["p"]
    core.delete_namespaced_pod("p", namespace)
    with pytest.raises(ApiException) as caught:
        core.read_namespaced_pod("p", namespace)
    assert (caught.value.status, caught.value.reason) == (404, "Not Found")


def test_a_pod_is_resized_through_its_subresource(core: client.CoreV1Api, namespace: str) -> None:
    """`resize` changes resources and counts the generation."""
    core.create_namespaced_pod(namespace, manifests.pod("p"))
    wanted = {"requests": {"cpu": "200m", "memory": "64Mi"}}
    patch = {"spec": {"containers": [{"name": "c", "resources": wanted}]}}
    resized = core.patch_namespaced_pod_resize("p", namespace, patch)
    assert resized.spec.containers[0].resources.requests == {"cpu": "200m", "memory": "64Mi"}
    assert resized.metadata.generation == 2


def test_conflicts_and_validation_raise_with_a_status(core: client.CoreV1Api, namespace: str) -> None:
    """Errors carry the Status document that upstream sends."""
    first = core.create_namespaced_config_map(namespace, manifests.config_map("a", n="1"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"n": "2"}})
    with pytest.raises(ApiException) as conflict:
        core.replace_namespaced_config_map("a", namespace, first)
    assert (conflict.value.status, '"reason":"Conflict"' in conflict.value.body) == (409, True)
    with pytest.raises(ApiException) as invalid:
        core.create_namespaced_config_map(namespace, manifests.config_map("a_b"))
    assert (invalid.value.status, '"reason":"FieldValueInvalid"' in invalid.value.body) == (422, True)


def test_watch_follows_a_pod_through_its_life(core: client.CoreV1Api, namespace: str) -> None:
    """`Watch.stream` starts with what is there and follows changes up to the deletion."""
    core.create_namespaced_pod(namespace, manifests.pod("p"))
    seen: list[tuple[str, str, bool]] = []
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_pod, namespace, timeout_seconds=20):
        metadata = event["object"].metadata
        seen.append((event["type"], metadata.labels.get("step", ""), metadata.deletion_timestamp is not None))
        if event["type"] == "ADDED":
            core.patch_namespaced_pod("p", namespace, {"metadata": {"labels": {"step": "2"}}})
        elif event["type"] == "DELETED":
            watcher.stop()
        elif metadata.deletion_timestamp is None:
            core.delete_namespaced_pod("p", namespace)
    assert seen == [
        ("ADDED", "", False),
        ("MODIFIED", "2", False),
        ("MODIFIED", "2", True),
        ("DELETED", "2", True),
    ]


def test_watch_ends_at_its_timeout_and_goes_on(core: client.CoreV1Api, namespace: str) -> None:
    """A stream that reached `timeoutSeconds` ends cleanly; a second one starts from the last version."""
    core.create_namespaced_config_map(namespace, manifests.config_map("a"))
    watcher = watch.Watch()
    selector = "metadata.name!=kube-root-ca.crt"
    stream = watcher.stream(core.list_namespaced_config_map, namespace, field_selector=selector, timeout_seconds=1)
    assert [event["object"].metadata.name for event in stream] == ["a"]
    later = threading.Timer(0.2, core.create_namespaced_config_map, (namespace, manifests.config_map("b")))
    later.start()
    stream = watcher.stream(
        core.list_namespaced_config_map,
        namespace,
        field_selector=selector,
        timeout_seconds=1,
        resource_version=watcher.resource_version,
    )
    assert [(event["type"], event["object"].metadata.name) for event in stream] == [("ADDED", "b")]
    later.join()


def test_lists_are_paged(core: client.CoreV1Api, namespace: str) -> None:
    """`limit` and `continue` walk through a list at one version."""
    for index in range(5):
        core.create_namespaced_config_map(namespace, manifests.config_map(f"c{index}"))
    page = core.list_namespaced_config_map(namespace, limit=3, label_selector="!x")
    names = [item.metadata.name for item in page.items]
    core.delete_namespaced_config_map("c4", namespace)
    rest = core.list_namespaced_config_map(namespace, _continue=page.metadata._continue, label_selector="!x")
    names += [item.metadata.name for item in rest.items]
    assert [name for name in names if name.startswith("c")] == ["c0", "c1", "c2", "c3", "c4"]
    assert page.metadata.resource_version == rest.metadata.resource_version


def test_deployments_are_scaled(api: client.ApiClient, namespace: str) -> None:
    """AppsV1Api: create, read and patch the scale, replace, delete with a propagation policy."""
    apps = client.AppsV1Api(api)
    created = apps.create_namespaced_deployment(namespace, manifests.deployment("d"))
    assert (created.metadata.generation, created.spec.strategy.type) == (1, "RollingUpdate")
    apps.patch_namespaced_deployment_scale("d", namespace, {"spec": {"replicas": 5}})
    scale = apps.read_namespaced_deployment_scale("d", namespace)
    assert (scale.spec.replicas, scale.status.selector) == (5, "app=d")
    stored = apps.read_namespaced_deployment("d", namespace)
    stored.spec.template.spec.containers[0].image = "i:2"
    replaced = apps.replace_namespaced_deployment("d", namespace, stored)
    assert (replaced.metadata.generation, replaced.spec.replicas) == (3, 5)
    apps.delete_namespaced_deployment("d", namespace, propagation_policy="Background")
    assert apps.list_namespaced_deployment(namespace).items == []


def test_the_collection_is_deleted(core: client.CoreV1Api, namespace: str) -> None:
    """`deletecollection` takes a selector and leaves the rest."""
    for index, tier in enumerate(("x", "x", "y")):
        body = manifests.config_map(f"c{index}")
        body["metadata"]["labels"] = {"tier": tier}
        core.create_namespaced_config_map(namespace, body)
    core.delete_collection_namespaced_config_map(namespace, label_selector="tier=x")
    left = core.list_namespaced_config_map(namespace, label_selector="tier")
    assert [item.metadata.name for item in left.items] == ["c2"]


def test_reviews_and_tokens(api: client.ApiClient, core: client.CoreV1Api, namespace: str) -> None:
    """A token made for an account authenticates as that account and may do what RBAC says: nothing yet."""
    body = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    token = core.create_namespaced_service_account_token("default", namespace, body).status.token
    review = client.AuthenticationV1Api(api).create_token_review(
        client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
    )
    assert review.status.user.username == f"system:serviceaccount:{namespace}:default"
    settings = client.Configuration()
    settings.host, settings.ssl_ca_cert = api.configuration.host, api.configuration.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {token}"}
    with client.ApiClient(settings) as account, pytest.raises(ApiException) as caught:
        client.CoreV1Api(account).list_namespaced_pod(namespace)
    assert caught.value.status == 403


def test_the_dynamic_client_discovers_every_kind(api: client.ApiClient, namespace: str) -> None:
    """Plain discovery lists all groups; each listed group version answers; objects are handled by kind."""
    discovered = dynamic.DynamicClient(api)
    kinds = {(found.group_version, found.kind) for found in discovered.resources.search(kind="Event")}
    assert {("v1", "Event"), ("events.k8s.io/v1", "Event")} <= kinds
    maps = discovered.resources.get(api_version="v1", kind="ConfigMap")
    maps.create(body=manifests.config_map("a", k="v"), namespace=namespace)
    changed = maps.patch(
        name="a",
        namespace=namespace,
        body={"metadata": {"labels": {"x": "y"}}},
        content_type="application/merge-patch+json",
    )
    assert (dict(changed.metadata.labels), dict(changed.data)) == ({"x": "y"}, {"k": "v"})
    events = maps.watch(namespace=namespace, name="a", timeout=1)
    assert [(event["type"], event["object"].metadata.name) for event in events] == [("ADDED", "a")]
    maps.delete(name="a", namespace=namespace)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        maps.get(name="a", namespace=namespace)


def test_version_and_groups(api: client.ApiClient) -> None:
    """The version names the Kubernetes release whose API this is."""
    version = client.VersionApi(api).get_code()
    assert (version.major, version.minor) == ("1", "36")
    groups = client.ApisApi(api).get_api_versions()
    assert "apps" in {group.name for group in groups.groups}


def test_custom_objects(api: client.ApiClient, namespace: str) -> None:
    """CustomObjectsApi: a definition, then its objects, with status, scale, defaults, validation and a watch."""
    definitions = client.ApiextensionsV1Api(api)
    group = f"{namespace}.example.com"
    definitions.create_custom_resource_definition(manifests.widgets(group))
    wait_for_condition(definitions, f"widgets.{group}", "Established")
    custom = client.CustomObjectsApi(api)
    place = {"group": group, "version": "v1", "namespace": namespace, "plural": "widgets"}
    body = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}}
    created = custom.create_namespaced_custom_object(**place, body=body)
    assert (created["spec"], created["metadata"]["generation"]) == ({"color": "red", "size": 1}, 1)
    custom.patch_namespaced_custom_object_status(**place, name="w", body={"status": {"size": 1}})
    custom.patch_namespaced_custom_object_scale(**place, name="w", body={"spec": {"replicas": 4}})
    stored = custom.get_namespaced_custom_object(**place, name="w")
    assert (stored["spec"]["size"], stored["status"], stored["metadata"]["generation"]) == (4, {"size": 1}, 2)
    with pytest.raises(ApiException) as caught:
        custom.patch_namespaced_custom_object(**place, name="w", body={"spec": {"size": 11}})
    assert (caught.value.status, "should be less than or equal to 10" in caught.value.body) == (422, True)
    events = watch.Watch().stream(custom.list_namespaced_custom_object, **place, timeout_seconds=1)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "w")]
    found = dynamic.DynamicClient(api).resources.get(api_version=f"{group}/v1", kind="Widget")
    assert [item.metadata.name for item in found.get(namespace=namespace).items] == ["w"]
    custom.delete_namespaced_custom_object(**place, name="w")
    assert custom.list_namespaced_custom_object(**place)["items"] == []
    definitions.delete_custom_resource_definition(f"widgets.{group}")


def wait_for_condition(definitions: client.ApiextensionsV1Api, name: str, wanted: str) -> None:
    selector = f"metadata.name={name}"
    listing = definitions.list_custom_resource_definition
    for event in watch.Watch().stream(listing, field_selector=selector, timeout_seconds=20):
        conditions = event["object"].status.conditions or []
        if any(condition.type == wanted and condition.status == "True" for condition in conditions):
            return
    raise AssertionError(f"{name} never became {wanted}")
