"""What a bootstrap token may not become, and what no stored object may do, over HTTPS on a running server."""

import asyncio
import ssl
from base64 import b64encode
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.apiserver.auth import foreigncerts
from tests.apiserver.auth.foreigncerts import AMBIGUOUS, CN, NODE, ORG, name
from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver import joining
from flexlet.apiserver.housekeeping.csr import CSRS
from flexlet.apiserver.rest import finished
from flexlet.apiserver.server import ApiServer, Settings, serving

CSR_PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def body(called: str, asked: Any) -> dict[str, Any]:
    spec = {
        "request": b64encode(asked.public_bytes(Encoding.PEM)).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "client auth"],
    }
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": called},
        "spec": spec,
    }


async def status_of(server: ApiServer, called: str, wanted: str, count: int = 1) -> Any:
    """The status of a request once it has `wanted`, and as many of it."""
    async with asyncio.timeout(20):
        while True:
            found = msgspec.json.decode(await server.cluster.get(CSRS, "", called))
            if len(found["status"].get(wanted, "")) >= count:
                return found["status"]
            await asyncio.sleep(0.05)


async def test_a_bootstrap_token_becomes_no_other_user(tmp_path: Path) -> None:
    """Two common names, a node's and a victim's: neither approved, nor signed, nor authenticated."""
    async with serving(Settings(data=tmp_path / "data"), SystemClock()) as server:
        config = (await joining.bootstrap_kubeconfig(server, server.url)).decode()
        token = config.partition("token: ")[2].split()[0].strip('"')
        nobody, admin = Client(server, tmp_path, "", []), Client(server, tmp_path, "admin", ["system:masters"])
        try:
            for called, subject in (
                ("evil", AMBIGUOUS["two common names"]),
                ("good", name((ORG, "system:nodes"), (CN, NODE))),
            ):
                sent = body(called, foreigncerts.csr(subject))
                answer = await nobody.ask("POST", CSR_PATH, sent, Authorization=f"Bearer {token}")
                assert answer.status == 201
            await status_of(server, "good", "certificate")  # requests are looked at in order: evil was before
            evil = (await admin.ask("GET", f"{CSR_PATH}/evil")).json
            assert evil["status"] == {}
            condition = {"type": "Approved", "status": "True", "reason": "Me", "message": ""}
            approved = evil | {"status": {"conditions": [condition]}}
            assert (await admin.ask("PUT", f"{CSR_PATH}/evil/approval", approved)).status == 200
            found = await status_of(server, "evil", "conditions", 2)
            assert found["conditions"][1]["message"] == "subject has more than one common name"
            assert "certificate" not in found
            der = foreigncerts.certificate(server.pki.authority, AMBIGUOUS["two common names"], server.clock.now())
            assert await _status_with(server, der, tmp_path) == 401
        finally:
            await nobody.close()
            await admin.close()


async def _status_with(server: ApiServer, der: bytes, directory: Path) -> int:
    path = directory / "shown.pem"
    pem = ssl.DER_cert_to_PEM_cert(der).encode()
    from flexlet.apiserver.auth.certificates import key_pem

    path.write_bytes(pem + key_pem(foreigncerts.KEY))
    context = ssl.create_default_context(cadata=server.pki.ca_pem)
    context.load_cert_chain(path)
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
        session.get(f"{server.url}/api/v1/namespaces") as response,
    ):
        return response.status


@pytest.mark.parametrize("san", [b"\x00", b"\x30\x03\x82\x01\xff"])
async def test_a_stored_request_with_a_broken_san_ends_nothing(tmp_path: Path, san: bytes) -> None:
    """Refused when it is created; stored by an older server, it stops neither the start nor the loop."""
    asked = foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE)), san=san)
    async with serving(Settings(data=tmp_path), SystemClock()) as server:
        admin = Client(server, tmp_path, "admin", ["system:masters"])
        answer = await admin.ask("POST", CSR_PATH, body("broken", asked))
        await admin.close()
        assert answer.status == 422
        kind = server.rest.registry.lookup(CSRS.group, CSRS.version, CSRS.plural)
        assert kind is not None
        stored = body("a-broken", asked) | {"status": {}}
        store = server.rest.backend.store
        await store.create(kind.storage_bucket, "a-broken", lambda rev: finished.encode(kind, stored, rev))
        nonsense = {"metadata": {"name": "b"}, "spec": 7}
        await store.create(kind.storage_bucket, "b", lambda rev: finished.encode(kind, nonsense, rev))
    async with serving(Settings(data=tmp_path), SystemClock()) as server:
        await joining.allow(server.cluster)
        admin = Client(server, tmp_path, "admin", ["system:masters"])
        good = body("good", foreigncerts.csr(name((ORG, "system:nodes"), (CN, NODE))))
        assert (await admin.ask("POST", CSR_PATH, good)).status == 201
        await status_of(server, "good", "certificate")
        metrics = (await admin.ask("GET", "/metrics")).body.decode()
        await admin.close()
        assert 'flexlet_loop_faulty_objects{loop="certificatesigningrequests"} 1' in metrics
