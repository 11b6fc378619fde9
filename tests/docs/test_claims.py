"""What the reference says about a running server is asked of one."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.apiserver.http.client import Client
from tests.docs import pages

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.server import Settings, serving

CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}}
PODS = "/api/v1/namespaces/default/pods"
APPLY = "application/apply-patch+yaml"
NOWHERE = (404, "the server could not find the requested resource")
NO_PAGE = (404, "404 page not found")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp("server")
    async with serving(Settings(data=folder / "data"), SystemClock()) as server:
        client = Client(server, folder, "admin", ["system:masters"])
        assert (await client.ask("POST", PODS, POD)).status == 201
        yield client
        await client.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ["/metrics", "/metrics/resources"])
async def test_every_metric_that_is_exported_is_documented(admin: Client, path: str) -> None:
    """And none is documented that is not exported."""
    exported = re.findall(r"^# TYPE (\S+)", (await admin.ask("GET", path)).body.decode(), re.MULTILINE)
    page = (pages.DOCS / "reference/metrics.md").read_text()
    assert sorted(re.findall(rf"^\| `(\w+)` \| \w+ \| `{path}` \|", page, re.MULTILINE)) == sorted(exported)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/api/v1/services", NOWHERE),
        ("/api/v1/endpoints", NOWHERE),
        ("/api/v1/persistentvolumes", NOWHERE),
        ("/api/v1/replicationcontrollers", NOWHERE),
        ("/apis/apps/v1/statefulsets", NOWHERE),
        ("/apis/apps/v1/controllerrevisions", NOWHERE),
        ("/apis/batch/v1/cronjobs", NOWHERE),
        ("/api/v1/namespaces/default/pods/p/proxy", NOWHERE),
        ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", NO_PAGE),
        ("/apis/apiregistration.k8s.io/v1/apiservices", NO_PAGE),
        ("/apis/autoscaling/v2/horizontalpodautoscalers", NO_PAGE),
        ("/apis/node.k8s.io/v1/runtimeclasses", NO_PAGE),
        ("/openapi/v2", NO_PAGE),
    ],
)
async def test_what_is_not_served_answers_as_the_page_says(
    admin: Client, path: str, answer: tuple[int, str]
) -> None:
    found = await admin.ask("GET", path)
    text = found.body.decode().strip()
    assert (found.status, found.json["message"] if text.startswith("{") else text) == answer


@pytest.mark.asyncio(loop_scope="module")
async def test_server_side_apply_names_the_patches_that_work(admin: Client) -> None:
    """As kubectl sends it, with its parameters."""
    query = "fieldManager=kubectl&force=false"
    found = await admin.ask("PATCH", f"{PODS}/p?{query}", POD, Content_Type=APPLY)
    accepted = "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"
    assert (found.status, found.json["reason"]) == (415, "UnsupportedMediaType")
    assert found.json["message"].endswith(f"accepted media types include: {accepted}")


@pytest.mark.asyncio(loop_scope="module")
async def test_other_encodings_are_refused(admin: Client) -> None:
    cbor = await admin.ask("POST", PODS, b"x", Content_Type="application/cbor")
    protobuf = await admin.ask("GET", PODS, Accept="application/vnd.kubernetes.protobuf")
    large = await admin.ask("POST", PODS, b" " * (3 * 1024 * 1024 + 1))
    assert (cbor.status, protobuf.status, large.status) == (415, 406, 413)


@pytest.mark.asyncio(loop_scope="module")
async def test_every_other_path_that_the_page_names_is_there(admin: Client) -> None:
    page = (pages.DOCS / "reference/api-coverage.md").read_text()
    row = re.search(r"^\| other paths \| (.*) \|$", page, re.MULTILINE)
    assert row is not None
    paths = re.findall(r"`(/\S+)`", row[1])
    assert [(path, (await admin.ask("GET", path)).status) for path in paths] == [(path, 200) for path in paths]
