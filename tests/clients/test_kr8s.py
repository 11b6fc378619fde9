"""kr8s, unchanged: plain discovery with slashes, merge patches, watches without a version."""

import asyncio
from collections.abc import AsyncIterator

import kr8s
import pytest
import pytest_asyncio
from kr8s.asyncio.objects import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Namespace,
    Pod,
    new_class,
)
from tests.clients import manifests
from tests.servers import Running

# It names the releases it was tested with; this one is newer, and works.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Kubernetes version v1.36.3 is not supported:UserWarning"),
]


@pytest_asyncio.fixture
async def api(server: Running, name: str) -> AsyncIterator[kr8s.asyncio.Api]:
    opened = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=name)
    await (await Namespace(manifests.namespace(name), api=opened)).create()
    yield opened
    await opened._session.aclose()


async def test_version_and_discovery(api: kr8s.asyncio.Api) -> None:
    """The version has a slash at its end; every listed group version answers with its resources."""
    assert (await api.version())["gitVersion"] == "v1.36.3"
    resources = {(found["version"], found["name"]) for found in await api.api_resources()}
    assert {("v1", "pods"), ("apps/v1", "deployments"), ("policy/v1", "poddisruptionbudgets")} <= resources
    assert await api.whoami() == "admin"


async def test_pods_are_created_patched_listed_and_deleted(api: kr8s.asyncio.Api) -> None:
    """Objects refresh to what the server stored, and are gone after a delete."""
    pod = await Pod(manifests.pod("p"), api=api)
    await pod.create()
    assert await pod.exists()
    await pod.refresh()
    assert (pod.status.phase, pod.raw["spec"]["restartPolicy"]) == ("Pending", "Always")
    await pod.label({"step": "2"})
    await pod.annotate({"note": "x"})
    assert (pod.labels["step"], pod.annotations["note"]) == ("2", "x")
    found = [item async for item in api.get("pods", label_selector={"step": "2"})]
    assert [item.name for item in found] == ["p"]
    await pod.delete()
    assert not await pod.exists()


async def test_json_patch_and_status(api: kr8s.asyncio.Api) -> None:
    """A list of operations goes as a JSON patch; a subresource can be named."""
    pod = await Pod(manifests.pod("p"), api=api)
    await pod.create()
    await pod.patch([{"op": "add", "path": "/metadata/labels/x", "value": "y"}], type="json")
    await pod.patch({"status": {"phase": "Running"}}, subresource="status")
    await pod.refresh()
    assert (pod.labels["x"], pod.status.phase) == ("y", "Running")


async def test_deployments_are_scaled(api: kr8s.asyncio.Api) -> None:
    """`scale` patches the subresource; waiting for the controller is not this server's part."""
    deployment = await Deployment(manifests.deployment("d"), api=api)
    await deployment.create()
    async with api.call_api(
        "PATCH",
        version="apps/v1",
        url="deployments/d/scale",
        namespace=api.namespace,
        content='{"spec":{"replicas":7}}',
        headers={"Content-Type": "application/merge-patch+json"},
    ) as answer:
        assert answer.json()["kind"] == "Scale"
    await deployment.refresh()
    assert deployment.replicas == 7


async def test_watch_tells_changes(api: kr8s.asyncio.Api) -> None:
    """A watch begins with what exists and goes on with what happens."""
    config = await ConfigMap(manifests.config_map("a", n="1"), api=api)
    await config.create()
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(20):
        async for event, found in api.watch("configmaps", field_selector="metadata.name=a"):
            seen.append((event, found.raw["data"]["n"]))
            if event == "ADDED":
                await config.patch({"data": {"n": "2"}})
            elif event == "MODIFIED":
                await config.delete()
            else:
                break
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


async def test_custom_resources(api: kr8s.asyncio.Api, name: str) -> None:
    """A class made on the spot, by the names that discovery gives."""
    group = f"{name}.example.com"
    definition = await CustomResourceDefinition(manifests.widgets(group), api=api)
    await definition.create()
    await definition.wait("condition=Established", timeout=20)
    kind = new_class("Widget", version=f"{group}/v1", namespaced=True, plural="widgets")
    widget = await kind({"metadata": {"name": "w"}, "spec": {"color": "red"}}, api=api)
    await widget.create()
    await widget.patch({"spec": {"size": 3}})
    assert (widget.raw["spec"], widget.raw["metadata"]["generation"]) == ({"color": "red", "size": 3}, 2)
    assert [item.name async for item in api.get(kind)] == ["w"]
    await widget.delete()
    assert not await widget.exists()


async def test_errors_are_server_errors(api: kr8s.asyncio.Api) -> None:
    """The Status arrives with the exception."""
    await (await ConfigMap(manifests.config_map("a"), api=api)).create()
    with pytest.raises(kr8s.ServerError) as caught:
        await (await ConfigMap(manifests.config_map("a"), api=api)).create()
    assert caught.value.response.json()["reason"] == "AlreadyExists"
    with pytest.raises(kr8s.NotFoundError):
        await ConfigMap.get("missing", api=api, timeout=0.1)
