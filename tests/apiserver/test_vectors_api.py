"""The recorded answers of a real server to pod creates and resizes, over HTTPS from a server process."""

import asyncio
import base64
import functools
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import pytest
import yaml

VECTORS: Final = Path(__file__).parents[1] / "data" / "vectors" / "api.jsonl"
NAMESPACE: Final = "/api/v1/namespaces/vectors"
STRATEGIC: Final = "application/strategic-merge-patch+json"
READY_S: Final = 20.0


@functools.cache
def cases() -> list[dict[str, Any]]:
    """Pods, what creating each gave, and what four resizes of those created gave."""
    return [msgspec.json.decode(line) for line in VECTORS.read_text().splitlines()]


class Client:
    """The administrator of a server process."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def ask(self, method: str, path: str, body: Any, media: str = "application/json") -> Any:
        """A request; the answer in the form of the vectors."""
        data, headers = msgspec.json.encode(body), {"Content-Type": media}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            value = msgspec.json.decode(await response.read())
        shown = _refused(value) if response.status >= 300 else _stored(value) if value["kind"] == "Pod" else {}
        return {"status": response.status, **shown}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A ``flexlet server`` process and its administrator."""
    kubeconfig = tmp_path / "kubeconfig"
    options = ["--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--write-kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "flexlet", "server", *options)
    try:
        url, context = await _credentials(kubeconfig, tmp_path)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
            yield Client(session, url)
    finally:
        process.terminate()
        await process.wait()


async def test_every_pod_is_stored_and_resized_as_upstream_does(client: Client) -> None:
    """Same status, reason, causes, stored resources and QoS class, for every create and every resize."""
    await client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "vectors"}})
    await _account(client)
    for case in cases():
        assert await _answers(client, case) == _expected(case), case["pod"]


async def _answers(client: Client, case: dict[str, Any]) -> list[Any]:
    created = await client.ask("POST", f"{NAMESPACE}/pods", case["pod"])
    if created["status"] != 201:
        return [created]
    path = f"{NAMESPACE}/pods/{case['pod']['metadata']['name']}/resize?dryRun=All"
    return [created, *[await client.ask("PATCH", path, item["patch"], STRATEGIC) for item in case["resizes"]]]


def _expected(case: dict[str, Any]) -> list[Any]:
    return [case["create"], *[item["answer"] for item in case["resizes"]]]


def _stored(pod: dict[str, Any]) -> dict[str, Any]:
    spec = pod["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", [])]
    return {
        "resources": spec.get("resources"),
        "containers": {item["name"]: item["resources"] for item in containers},
        "qosClass": pod["status"].get("qosClass"),
    }


def _refused(status: dict[str, Any]) -> dict[str, Any]:
    causes = status.get("details", {}).get("causes") or []
    shown = [{key: cause.get(key) for key in ("field", "reason", "message")} for cause in causes]
    detail = {} if causes else {"message": status["message"]}
    return {"reason": status.get("reason"), "causes": sorted(shown, key=str), **detail}


async def _account(client: Client) -> None:
    """Wait for the account that pods of a namespace run under."""
    for _ in range(100):
        found = await client.ask("PATCH", f"{NAMESPACE}/serviceaccounts/default?dryRun=All", {}, STRATEGIC)
        if found["status"] != 404:
            return
        await asyncio.sleep(0.05)


async def _credentials(kubeconfig: Path, directory: Path) -> tuple[str, ssl.SSLContext]:
    async with asyncio.timeout(READY_S):
        while not await asyncio.to_thread(kubeconfig.exists):  # noqa: ASYNC110  another process writes it
            await asyncio.sleep(0.02)
    return await asyncio.to_thread(_read, kubeconfig, directory / "admin.pem")


def _read(kubeconfig: Path, credential: Path) -> tuple[str, ssl.SSLContext]:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    parts = (base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key"))
    credential.write_bytes(b"".join(parts))
    context.load_cert_chain(credential)
    return cluster["server"], context
