"""lightkube, unchanged: no discovery, strategic patches, its own models."""

from collections.abc import Iterator

import lightkube
import pytest
from lightkube.core.exceptions import ApiError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import CascadeType, PatchType
from tests.clients import manifests
from tests.servers import Running

pytestmark = pytest.mark.slow


@pytest.fixture
def client(server: Running, name: str) -> Iterator[lightkube.Client]:
    config = lightkube.KubeConfig.from_file(str(server.kubeconfig))
    with lightkube.Client(config=config, namespace=name, field_manager="tests") as opened:
        opened.create(Namespace.from_dict(manifests.namespace(name)))
        yield opened


def test_pods_are_created_patched_listed_and_deleted(client: lightkube.Client) -> None:
    """Strategic patches merge; lists take labels and fields; get of a deleted pod is 404."""
    created = client.create(Pod.from_dict(manifests.pod("p")))
    assert created.status.phase == "Pending"
    patched = client.patch(Pod, "p", {"metadata": {"labels": {"step": "2"}}})
    assert patched.metadata.labels == {"app": "p", "step": "2"}
    listed = client.list(Pod, labels={"step": "2"}, fields={"spec.nodeName": ""})
    assert [pod.metadata.name for pod in listed] == ["p"]
    client.delete(Pod, "p")
    with pytest.raises(ApiError) as caught:
        client.get(Pod, "p")
    assert (caught.value.status.code, caught.value.status.reason) == (404, "NotFound")


def test_a_pod_is_resized(client: lightkube.Client) -> None:
    """A strategic patch of the subresource finds the container by its name."""
    client.create(Pod.from_dict(manifests.pod("p")))
    patch = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "128Mi"}}}]}}
    client.patch(Pod.Resize, "p", patch)
    spec = client.get(Pod, "p").spec
    assert spec.containers[0].resources.requests == {"cpu": "100m", "memory": "128Mi"}


def test_watch_tells_changes(client: lightkube.Client) -> None:
    """A watch of one name: added, modified, deleted."""
    client.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"n": "1"}))
    seen: list[tuple[str, str]] = []
    for event, found in client.watch(ConfigMap, fields={"metadata.name": "a"}, server_timeout=20):
        seen.append((event, found.data["n"]))
        if event == "ADDED":
            client.patch(ConfigMap, "a", {"data": {"n": "2"}}, patch_type=PatchType.MERGE)
        elif event == "MODIFIED":
            client.delete(ConfigMap, "a")
        else:
            break
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_deployments_are_replaced_scaled_and_deleted_with_a_policy(client: lightkube.Client) -> None:
    """`Deployment.Scale` is the subresource; a cascade becomes a propagation policy."""
    client.create(Deployment.from_dict(manifests.deployment("d")))
    scale = client.get(Deployment.Scale, "d")
    scale.spec = ScaleSpec(replicas=4)
    client.replace(scale)
    assert client.get(Deployment, "d").spec.replicas == 4
    client.delete(Deployment, "d", cascade=CascadeType.BACKGROUND)
    assert list(client.list(Deployment)) == []


def test_collections_are_paged_and_deleted(client: lightkube.Client) -> None:
    """`chunk_size` walks pages; `deletecollection` empties the namespace of a kind."""
    for index in range(5):
        client.create(ConfigMap(metadata=ObjectMeta(name=f"c{index}", labels={"mine": "yes"})))
    listed = client.list(ConfigMap, chunk_size=2, labels={"mine": "yes"})
    assert [found.metadata.name for found in listed] == ["c0", "c1", "c2", "c3", "c4"]
    client.deletecollection(ConfigMap)
    assert list(client.list(ConfigMap, labels={"mine": "yes"})) == []


def test_custom_resources(client: lightkube.Client, name: str) -> None:
    """A generic resource needs no discovery: create, patch, its status, delete."""
    group = f"{name}.example.com"
    client.create(CustomResourceDefinition.from_dict(manifests.widgets(group)))
    established = ["Established"]
    client.wait(CustomResourceDefinition, f"widgets.{group}", for_conditions=established)
    widget = create_namespaced_resource(group, "v1", "Widget", "widgets")
    created = client.create(widget(metadata=ObjectMeta(name="w"), spec={"color": "red"}))
    assert created.spec == {"color": "red", "size": 1}
    patched = client.patch(widget, "w", {"spec": {"size": 3}}, patch_type=PatchType.MERGE)
    assert (patched.spec["size"], patched.metadata.generation) == (3, 2)
    client.patch(widget.Status, "w", {"status": {"size": 3}}, patch_type=PatchType.MERGE)
    assert client.get(widget, "w").status == {"size": 3}
    client.delete(widget, "w")
    assert list(client.list(widget)) == []


def test_apply_is_refused_with_the_patch_types_that_work(client: lightkube.Client) -> None:
    """Server-side apply is not served; the 415 says what is."""
    with pytest.raises(ApiError) as caught:
        client.apply(ConfigMap(metadata=ObjectMeta(name="a")))
    assert caught.value.status.code == 415
    assert caught.value.status.message == (
        "the body of the request was in an unknown format - accepted media types include:"
        " application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
    )
