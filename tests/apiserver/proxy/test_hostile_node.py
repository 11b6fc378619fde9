"""A node that lies about where it is, and a tenant who may read logs: over HTTPS, on a running server.

Whatever the node says, the server sends its credentials to nobody but the node, and what it could send is worth
nothing to the API.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
import pytest_asyncio
from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.auth import kubeletclient
from flexlet.apiserver.auth.kubeletclient import KubeletClient
from flexlet.apiserver.server import ApiServer, Settings, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    async with serving(Settings(data=tmp_path_factory.mktemp("server")), SystemClock()) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """The administrator; a Secret, a pod of the tenant's on the node ``evil``, and what the tenant may do."""
    client = Client(server, tmp_path_factory.mktemp("admin"), "admin", ["system:masters"])
    role = {
        "metadata": {"name": "logs"},
        "rules": [{"apiGroups": [""], "resources": ["pods/log", "pods/exec"], "verbs": ["get", "create"]}],
    }
    subject = {"kind": "User", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "Role", "name": "logs", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "logs"}, "subjects": [subject], "roleRef": ref}
    container = {"name": "a", "image": "i"}
    for path, body in (
        ("/api/v1/nodes", {"metadata": {"name": "evil"}}),
        ("/api/v1/namespaces/kube-system/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "hidden"}}),
        (f"{RBAC}/namespaces/default/roles", role),
        (f"{RBAC}/namespaces/default/rolebindings", binding),
        (
            "/api/v1/namespaces/default/pods",
            {"metadata": {"name": "web"}, "spec": {"nodeName": "evil", "containers": [container]}},
        ),
    ):
        answer = await client.ask("POST", path, body)
        assert answer.status == 201, answer.body
    yield client
    await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def evil(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = Client(server, tmp_path_factory.mktemp("evil"), "system:node:evil", ["system:nodes"])
    yield client
    await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tenant(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = Client(server, tmp_path_factory.mktemp("tenant"), "tenant", [])
    yield client
    await client.close()


async def lie(evil: Client, address: str, port: int, kind: str = "InternalIP") -> None:
    """The API takes it, as kube-apiserver 1.36.3 does."""
    status = {
        "addresses": [{"type": kind, "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    headers = {"Content_Type": "application/merge-patch+json"}
    answer = await evil.ask("PATCH", "/api/v1/nodes/evil/status", {"status": status}, **headers)
    assert answer.status == 200, answer.body


async def reads(tenant: Client) -> tuple[int, str]:
    answer = await tenant.ask("GET", "/api/v1/namespaces/default/pods/web/log")
    return answer.status, str(answer.json["message"])


async def test_an_address_that_is_a_url(server: ApiServer, admin: Client, evil: Client, tenant: Client) -> None:
    """The address was pasted into a URL, and the server asked itself for a Secret as the administrator."""
    own = int(server.url.rpartition(":")[2])
    text = f"::ffff:127.0.0.1]:{own}/api/v1/namespaces/kube-system/secrets/s?x="
    await lie(evil, text, own)
    reason = f"cannot connect to node evil: {text!r} is neither an IP address nor an RFC 1123 host name"
    assert await reads(tenant) == (400, reason)
    assert (await admin.ask("GET", "/api/v1/namespaces/kube-system/secrets/s")).status == 200


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("localhost", None),
        ("169.254.169.254", "169.254.169.254"),
        ("fe80::1", "fe80::1"),
        ("0.0.0.0", "0.0.0.0"),  # noqa: S104
        ("224.0.0.1", "224.0.0.1"),
    ],
)
async def test_an_address_of_this_machine(
    admin: Client, evil: Client, tenant: Client, address: str, shown: str | None
) -> None:
    """Nothing connects: whatever listens there would see the server's credentials."""
    del admin
    seen: list[Any] = []
    listener = await asyncio.start_server(lambda *ends: seen.append(ends), "127.0.0.1", 0)
    async with listener:
        await lie(evil, address, listener.sockets[0].getsockname()[1], "Hostname")
        code, message = await reads(tenant)
    assert (code, seen) == (400, [])
    assert message.startswith("cannot connect to node evil: address ")
    assert shown is None or f"address {shown} is not allowed" in message


async def test_the_kubelets_client_may_use_the_kubelets_api_only(
    server: ApiServer, admin: Client, tmp_path: Path
) -> None:
    """What a node could do with the server's identity, if it could make it ask the API."""
    pair = KubeletClient(server.pki, time.time).pair()
    context = ssl.create_default_context(cadata=server.pki.ca_pem)
    context.load_cert_chain(pair)
    del tmp_path
    codes = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        for path in ("namespaces/kube-system/secrets/s", "secrets", "pods", "configmaps", "nodes"):
            async with session.get(f"{server.url}/api/v1/{path}") as answer:
                codes[path] = answer.status
    assert codes == {
        "namespaces/kube-system/secrets/s": 403,
        "secrets": 403,
        "pods": 403,
        "configmaps": 403,
        "nodes": 200,
    }
    allowed = {}
    for verb, subresource in (("get", "proxy"), ("create", "proxy"), ("get", "log"), ("get", "stats")):
        attributes = {"verb": verb, "version": "v1", "resource": "nodes", "subresource": subresource, "name": "n1"}
        spec = {"user": kubeletclient.USER, "groups": [kubeletclient.GROUP], "resourceAttributes": attributes}
        review = await admin.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        allowed[verb, subresource] = review.json["status"]["allowed"]
    assert set(allowed.values()) == {True}, allowed


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
@pytest.mark.parametrize("upgrades", [True, False])
async def test_a_stream_by_websocket_needs_create(
    server: ApiServer, admin: Client, tmp_path: Path, subresource: str, upgrades: bool
) -> None:
    """As kube-apiserver 1.36.3 answers, before it looks whether there is such a pod."""
    name = f"{subresource}-{upgrades}".lower()
    rbac, rule = "rbac.authorization.k8s.io", {"apiGroups": [""], "resources": [f"pods/{subresource}"]}
    for path, body in (
        ("roles", {"metadata": {"name": name}, "rules": [rule | {"verbs": ["get"]}]}),
        (
            "rolebindings",
            {
                "metadata": {"name": name},
                "subjects": [{"kind": "User", "name": name, "apiGroup": rbac}],
                "roleRef": {"kind": "Role", "name": name, "apiGroup": rbac},
            },
        ),
    ):
        assert (await admin.ask("POST", f"{RBAC}/namespaces/default/{path}", body)).status == 201
    reader = Client(server, tmp_path, name, [])
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Protocol": "v5.channel.k8s.io"}
    path = f"/api/v1/namespaces/default/pods/none/{subresource}?command={quote('ls /')}&stdout=1"
    try:
        answer = await reader.ask("GET", path, **(headers if upgrades else {}))
        assert (answer.status, json.loads(answer.body)) == (
            403,
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": 'pods "none" is forbidden: ',
                "reason": "Forbidden",
                "details": {"name": "none", "kind": "pods"},
                "code": 403,
            },
        )
        role = {"rules": [rule | {"verbs": ["get", "create"]}], "metadata": {"name": name}}
        assert (await admin.ask("PUT", f"{RBAC}/namespaces/default/roles/{name}", role)).status == 200
        assert (await reader.ask("GET", path, **(headers if upgrades else {}))).status == 404
    finally:
        await reader.close()
