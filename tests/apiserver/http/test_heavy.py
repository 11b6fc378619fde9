"""Which requests have to wait for a turn: here nobody gets one, so each of them is refused."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.http.wire import Wire
from flexlet.apiserver.server import ApiServer, Settings, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
MERGE = "application/merge-patch+json"
SMALL = {"data": {"n": "1"}}
LARGE = {"data": {"k": "x" * 140_000}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """Without a place for anything heavy."""
    settings = Settings(data=tmp_path_factory.mktemp("server"), wire=Wire(heavy=0, heavy_waiting=0))
    async with serving(settings, SystemClock()) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def writer(
    server: ApiServer, admin: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    """A user who may do anything in one namespace; administrators take no turns."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "writer"}
    binding = {"metadata": {"name": "writer"}, "subjects": [subject], "roleRef": role}
    assert (await admin.ask("POST", BINDINGS, binding)).status == 201
    for name, data in (("small", SMALL), ("large", LARGE)):
        assert (await admin.ask("POST", MAPS, {"metadata": {"name": name}, **data})).status == 201
    client = Client(server, tmp_path_factory.mktemp("writer"), "writer", [])
    yield client
    await client.close()


@pytest.mark.parametrize(
    ("method", "name", "body", "code"),
    [
        ("PATCH", "small", SMALL, 200),
        ("PATCH", "large", SMALL, 429),
        ("PATCH", "small", LARGE, 429),
        ("PUT", "small", SMALL, 200),
        ("PUT", "large", SMALL, 429),
        ("PUT", "small", LARGE, 429),
        ("PATCH", "none", SMALL, 404),
        ("GET", "large", None, 200),
    ],
)
async def test_a_write_is_heavy_if_its_body_or_its_object_is(
    writer: Client, method: str, name: str, body: dict[str, Any] | None, code: int
) -> None:
    sent = None if body is None else {"metadata": {"name": name}, **body}
    media = {"Content_Type": MERGE} if method == "PATCH" else {}
    assert (await writer.ask(method, f"{MAPS}/{name}", sent, **media)).status == code
