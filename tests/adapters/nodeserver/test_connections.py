"""Sockets, TLS and what comes over them."""

import asyncio
import contextlib
import socket
import ssl

import pytest
from tests.adapters.nodeserver.stage import Authority, Stage

from flexlet.adapters.nodeserver import connection, tls
from flexlet.adapters.nodeserver.settings import Settings, settings_of
from flexlet.core.kubeletconfig.config import Authorization, KubeletConfiguration
from flexlet.errors import ConfigError

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: n\r\n\r\n"


async def test_many_requests_on_one_connection(stage: Stage) -> None:
    """Some sent before the first was answered, some with bodies that nobody reads."""
    client = await stage.connect()
    posted = b"POST /stats/summary HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\nhello"
    await client.send(HEALTH + posted + HEALTH)
    assert await client.answer() == (200, b"ok")
    assert (await client.answer())[0] == 200
    assert await client.answer() == (200, b"ok")
    await client.close()


async def test_a_head_without_a_body(stage: Stage) -> None:
    client = await stage.connect()
    await client.send(HEALTH.replace(b"GET", b"HEAD") + HEALTH)
    assert b"Content-Length: 2\r\n" in await client.head()
    assert await client.answer() == (200, b"ok")
    await client.close()


@pytest.mark.parametrize(
    "request_",
    [
        HEALTH.replace(b"Host: n", b"Connection: close"),
        HEALTH.replace(b"HTTP/1.1", b"HTTP/1.0"),
        HEALTH.replace(b"Host: n", b"Transfer-Encoding: chunked"),
        HEALTH.replace(b"Host: n", b"Content-Length: 99999999"),
    ],
)
async def test_connections_that_end_after_their_answer(stage: Stage, request_: bytes) -> None:
    client = await stage.connect()
    await client.send(request_)
    answer = await client.rest()
    assert (answer[:15], answer[-2:], b"Connection: close\r\n" in answer) == (b"HTTP/1.1 200 OK", b"ok", True)
    await client.close()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (HEALTH.replace(b"Host: n", b"Content-Length: 1\r\nContent-Length: 2"), b"400"),
        (b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\n\r\n", b"431"),
    ],
)
async def test_what_is_not_http_is_refused(stage: Stage, data: bytes, code: bytes) -> None:
    client = await stage.connect()
    with contextlib.suppress(ConnectionError):
        await client.send(data)
    assert (await client.rest()).split(b" ")[1] == code
    await client.close()


async def test_idle_connections_are_closed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_S", 0.05)
    client = await stage.connect()
    assert await client.rest() == b""
    await client.close()


async def test_only_http_1_1_is_offered(stage: Stage) -> None:
    context = stage.admin()
    context.set_alpn_protocols(["h2", "http/1.1"])
    client = await stage.connect(context)
    assert client.writer.get_extra_info("ssl_object").selected_alpn_protocol() == "http/1.1"
    await client.close()


async def test_a_foreign_client_certificate_does_not_come_through(stage: Stage) -> None:
    foreign = Authority("other").client("system:admin", "system:masters")

    async def ask() -> None:
        """With TLS 1.3 a client learns of it only when it reads."""
        client = await stage.connect(stage.authority.client_context(foreign))
        await client.send(HEALTH)
        await client.head()

    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        await ask()
    assert stage.reviews.asked == []


async def test_a_new_certificate_serves_new_connections_and_old_ones_go_on(stage: Stage) -> None:
    client = await stage.connect()
    other = Authority("other")
    assert stage.server is not None
    stage.server.reload(other.server_context())
    renewed = await stage.connect(other.client_context(other.client("new")))
    for each in (client, renewed):
        await each.send(HEALTH)
        assert await each.answer() == (200, b"ok")
        await each.close()
    assert [asked["user"] for asked in stage.reviews.asked] == ["kube-apiserver", "new"]
    with pytest.raises(ssl.SSLError):
        await stage.connect()


async def test_without_a_certificate_handshakes_fail_until_there_is_one(stage: Stage) -> None:
    assert stage.server is not None
    context = stage.server._listener.context
    stage.server._listener.context = None
    with pytest.raises(OSError, match=r".*"):
        await stage.connect()
    assert context is not None
    stage.server.reload(context)
    client = await stage.connect()
    await client.close()


async def test_whoever_does_not_speak_tls_disturbs_nobody(stage: Stage) -> None:
    assert stage.server is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.server.port)
    writer.write(HEALTH)
    assert await asyncio.wait_for(reader.read(), 10) is not None
    writer.close()
    client = await stage.connect()
    await client.send(HEALTH)
    assert await client.answer() == (200, b"ok")
    await client.close()


async def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1:{port}: .* name another port"):
            async with Stage().serving(port=port):
                pass


def test_a_certificate_that_cannot_be_served_is_explained() -> None:
    authority = Authority()
    pair, other = authority.serving(), authority.serving()
    with pytest.raises(ConfigError, match="tlsCertFile"):
        tls.serving_context(pair.certificate_pem, other.key_pem, authority.pem)
    with pytest.raises(ConfigError, match="clientCAFile"):
        tls.serving_context(pair.certificate_pem, pair.key_pem, b"not a certificate")


async def test_plain_health_on_loopback() -> None:
    """No credentials, no TLS, and nothing but that the process answers."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    async with Stage().serving(health_port=port) as stage:
        stage.views.trouble = "stuck"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEALTH + HEALTH.replace(b"/healthz", b"/pods").replace(b"Host: n", b"Connection: close"))
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert (b"\r\n\r\nokHTTP/1.1 404" in answer, stage.reviews.asked) == (True, [])


async def test_old_versions_of_tls_can_be_switched_off(stage: Stage) -> None:
    pair = stage.authority.serving()
    newest = tls.serving_context(
        pair.certificate_pem, pair.key_pem, stage.authority.pem, minimum=ssl.TLSVersion.TLSv1_3
    )
    assert stage.server is not None
    stage.server.reload(newest)
    old = stage.admin()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await stage.connect(old)
    client = await stage.connect()
    await client.close()


def test_cipher_suites_can_be_chosen() -> None:
    authority = Authority()
    pair = authority.serving()
    suite = "ECDHE-ECDSA-AES256-GCM-SHA384"
    context = tls.serving_context(pair.certificate_pem, pair.key_pem, authority.pem, ciphers=suite)
    chosen = [cipher["name"] for cipher in context.get_ciphers() if not cipher["name"].startswith("TLS_")]
    assert chosen == [suite]
    with pytest.raises(ConfigError, match="tlsCipherSuites"):
        tls.serving_context(pair.certificate_pem, pair.key_pem, authority.pem, ciphers="NONSENSE")


def test_settings_are_those_of_the_kubelets_configuration() -> None:
    """The defaults agree."""
    assert settings_of(KubeletConfiguration(), "n1") == Settings(node_name="n1")
    config = KubeletConfiguration(
        address="::1", port=1, healthz_port=0, authorization=Authorization(mode="AlwaysAllow")
    )
    assert settings_of(config, "n1") == Settings(
        node_name="n1", address="::1", port=1, health_port=0, authorizes=False
    )
