"""HTTP probes; every text of a failure was taken from Go 1.26's client in the same situation."""

import asyncio
import ssl
from pathlib import Path

import pytest
from tests.adapters.prober.servers import routed, saying, serving

from flexlet.adapters.prober import NetworkProber
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing.targets import HttpRequest

OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
HEADERS = (("X-Two", "2"), ("User-Agent", "kube-probe/1.36"), ("Accept", "*/*"))


def http(
    port: int, path: str = "/", scheme: str = "http", headers: tuple[tuple[str, str], ...] = ()
) -> HttpRequest:
    return HttpRequest(scheme=scheme, host="127.0.0.1", port=port, path=path, headers=headers)


async def answer(text: str, timeout_s: float = 5.0, *, hang: bool = False) -> tuple[Answer, str]:
    async with serving(saying(text, hang=hang)) as port:
        return await NetworkProber().ask(http(port), timeout_s), f'Get "http://127.0.0.1:{port}/": '


async def test_a_request_carries_the_headers_given_and_closes_the_connection() -> None:
    asked: list[str] = []
    async with serving(saying(OK, asked=asked)) as port:
        got = await NetworkProber().ask(http(port, "/ready?a=b", headers=HEADERS), 5)
    assert got == Answer(result="success", output="hi")
    assert "".join(asked) == (
        f"GET /ready?a=b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Two: 2\r\nUser-Agent: kube-probe/1.36\r\n"
        "Accept: */*\r\nConnection: close\r\n\r\n"
    )


async def test_a_host_header_stands_for_the_address() -> None:
    asked: list[str] = []
    async with serving(saying(OK, asked=asked)) as port:
        await NetworkProber().ask(http(port, headers=(("Host", "shop.example"), ("X", "a\r\nEvil: b"))), 5)
    assert asked == ["GET / HTTP/1.1\r\nHost: shop.example\r\nX: a  Evil: b\r\nConnection: close\r\n\r\n"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (200, Answer(result="success", output="hi")),
        (299, Answer(result="success", output="hi")),
        (300, Answer(result="warning", output="Probe terminated redirects, Response body: hi")),
        (399, Answer(result="warning", output="Probe terminated redirects, Response body: hi")),
        (400, Answer(result="failure", output="HTTP probe failed with statuscode: 400")),
        (503, Answer(result="failure", output="HTTP probe failed with statuscode: 503")),
    ],
)
async def test_codes_from_200_to_399_are_good(code: int, expected: Answer) -> None:
    """A failure never shows the body: it may hold what is not meant for events."""
    got, _ = await answer(f"HTTP/1.1 {code} Word\r\nContent-Length: 2\r\n\r\nhi")
    assert got == expected


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde"),
        ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x"),
        ("HTTP/1.0 200 OK\nContent-Length: 1\n\nx", "x"),
        ("HTTP/1.1 204 No Content\r\n\r\n", ""),
        (f"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n{'x' * 20000}", "x" * 10240),
        (f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n{'x' * 20000}\r\n0\r\n\r\n", "x" * 10240),
        (f"HTTP/1.1 200 OK\r\n\r\n{'x' * 20000}", "x" * 10240),
    ],
)
async def test_at_most_ten_kibibytes_of_any_body_are_read(text: str, body: str) -> None:
    got, _ = await answer(text)
    assert got == Answer(result="success", output=body)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "EOF"),
        ("hello\r\n\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "hello"'),
        ("hi there\r\n\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP status code "there"'),
        ("hi 200 OK\r\n\r\n", 'net/http: HTTP/1.x transport connection broken: malformed HTTP version "hi"'),
        ("HTTP/1.1 200 OK\r\n", "unexpected EOF"),
        (
            "HTTP/1.1 200 OK\r\nContent\r\n\r\n",
            'net/http: HTTP/1.x transport connection broken: malformed MIME header: missing colon: "Content"',
        ),
    ],
)
async def test_what_is_no_answer_is_a_failure(text: str, told: str) -> None:
    got, prefix = await answer(text)
    assert got == Answer(result="failure", output=prefix + told)


async def test_nobody_listening_is_a_failure() -> None:
    got = await NetworkProber().ask(http(1), 5)
    told = 'Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'
    assert got == Answer(result="failure", output=told)


async def test_a_name_that_cannot_be_resolved_is_a_failure() -> None:
    request = HttpRequest(scheme="http", host="bad..name", port=80, path="/")
    got = await NetworkProber().ask(request, 5)
    told = 'Get "http://bad..name:80/": dial tcp: lookup bad..name: no such host'
    assert got == Answer(result="failure", output=told)


async def test_silence_is_a_failure_after_the_timeout() -> None:
    got, prefix = await answer("", 0.05, hang=True)
    told = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert got == Answer(result="failure", output=prefix + told)


@pytest.mark.parametrize(
    ("text", "hang", "told"),
    [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
            True,
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", False, "unexpected EOF"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab", False, "unexpected EOF"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", False, "invalid byte in chunk length"),
    ],
)
async def test_a_body_that_breaks_off_says_nothing_after_three_tries(text: str, hang: bool, told: str) -> None:
    asked: list[str] = []
    async with serving(saying(text, asked=asked, hang=hang)) as port:
        got = await NetworkProber().ask(http(port), 0.05 if hang else 5)
    assert (got, len(asked)) == (Answer(result="unknown", output=told), 3)


async def test_redirects_are_followed_within_the_host() -> None:
    asked: list[str] = []
    answers = {
        "/": "HTTP/1.1 307 Go\r\nLocation: /two?x=1\r\nContent-Length: 0\r\n\r\n",
        "/two?x=1": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nend",
    }
    async with serving(routed(answers, asked)) as port:
        got = await NetworkProber().ask(http(port, headers=(("Host", "own"),)), 5)
    assert got == Answer(result="success", output="end")
    assert asked[1] == (
        f"GET /two?x=1 HTTP/1.1\r\nHost: own\r\nReferer: http://127.0.0.1:{port}/\r\nConnection: close\r\n\r\n"
    )


async def test_an_absolute_redirect_drops_a_host_of_our_own() -> None:
    asked: list[str] = []
    answers = {"/two": OK}
    async with serving(routed(answers, asked)) as port:
        answers["/"] = f"HTTP/1.1 301 Go\r\nLocation: http://127.0.0.1:{port}/two\r\n\r\n"
        got = await NetworkProber().ask(http(port, headers=(("Host", "own"),)), 5)
    assert got == Answer(result="success", output="hi")
    assert asked[1].splitlines()[1] == f"Host: 127.0.0.1:{port}"


@pytest.mark.parametrize("location", ["http://elsewhere.example/x", "https://elsewhere.example/"])
async def test_a_redirect_that_leads_away_is_a_warning(location: str) -> None:
    got, _ = await answer(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 4\r\n\r\naway")
    assert got == Answer(result="warning", output="Probe terminated redirects, Response body: away")


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("/", 'Get "/": stopped after 10 redirects'),
        ("ftp://127.0.0.1/", 'Get "ftp://127.0.0.1/": unsupported protocol scheme "ftp"'),
    ],
)
async def test_redirects_must_come_to_an_end(location: str, told: str) -> None:
    asked: list[str] = []
    text = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    async with serving(saying(text, asked=asked)) as port:
        got = await NetworkProber().ask(http(port), 5)
    assert got == Answer(result="failure", output=told)
    assert len(asked) == (10 if location == "/" else 1)


async def test_any_certificate_will_do(tmp_path: Path) -> None:
    async with serving(saying(OK), certificate(tmp_path)) as port:
        got = await NetworkProber().ask(http(port, scheme="https"), 5)
    assert got == Answer(result="success", output="hi")


async def test_a_server_without_tls_is_named_as_such() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(plain) as port:
        got = await NetworkProber().ask(http(port, scheme="https"), 5)
    told = f'Get "https://127.0.0.1:{port}/": http: server gave HTTP response to HTTPS client'
    assert got == Answer(result="failure", output=told)


async def test_a_hook_takes_any_answer() -> None:
    async with serving(saying("HTTP/1.1 500 No\r\n\r\n")) as port:
        assert await NetworkProber().call(http(port), 5) == ""
    refused = 'Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'
    assert await NetworkProber().call(http(1), 5) == refused


async def test_a_hook_to_a_server_without_tls_is_sent_again_in_the_clear() -> None:
    """And without credentials, which were meant for a server behind TLS."""
    asked: list[str] = []

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.read(4096)).decode("latin-1"))
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    async with serving(plain) as port:
        request = http(port, scheme="https", headers=(("Authorization", "Bearer x"), ("X", "y")))
        assert await NetworkProber().call(request, 5) == ""
    assert asked[1] == f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: y\r\nConnection: close\r\n\r\n"


def certificate(folder: Path) -> ssl.SSLContext:
    """A server's context with a certificate that nobody has signed."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nobody")])
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(made.public_bytes(encoding) + secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context
