"""Which hosts a node may have: parsed strictly, resolved once, and never this machine unless that was said."""

import ipaddress
import socket
from typing import Any

import pytest

from flexlet.apiserver.proxy import hosts
from flexlet.apiserver.proxy.hosts import Host, Unusable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.0.0.5", "10.0.0.5"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("::ffff:10.0.0.5", "10.0.0.5"),
        ("Node-1.Example.com", "node-1.example.com"),
        ("n1", "n1"),
        ("1n.2", None),
    ],
)
def test_an_address_or_a_name(text: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(Unusable):
            hosts.parse(text)
    else:
        assert hosts.parse(text).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "::ffff:127.0.0.1]:6443/api/v1/namespaces/kube-system/secrets?x=",
        "[::1]",
        "fe80::1%eth0",
        "127.0.0.1:80",
        "127.0.0.1/",
        "127.000.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "a b",
        "a\r\nHost: x",
        "a\0b",
        "user@host",
        "host#x",
        "host?x",
        "-a",
        "a-",
        "a..b",
        "a.",
        "ho_st",
        "n\u0131",
        "1\u0661",
        "a" * 64,
        ".".join(["a" * 60] * 5),
    ],
)
def test_what_is_neither(text: str) -> None:
    with pytest.raises(Unusable):
        hosts.parse(text)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.0.5", True),
        ("192.0.2.1", True),
        ("fd00::1", True),
        ("2001:db8::1", True),
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("::127.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104
        ("0.1.2.3", False),
        ("::", False),
        ("169.254.169.254", False),
        ("fe80::1", False),
        ("224.0.0.1", False),
        ("ff02::1", False),
        ("255.255.255.255", False),
    ],
)
def test_which_addresses_nodes_have(address: str, expected: bool) -> None:
    assert hosts.is_nodes(ipaddress.ip_address(address)) is expected


class Names:
    """A resolver that answers something else every time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.asked = 0
        self._answers = answers
        monkeypatch.setattr(socket, "getaddrinfo", self._look_up)

    def _look_up(self, host: str, port: int, *args: Any, **more: Any) -> list[Any]:
        del host, args, more
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in self._answers[self.asked - 1]]


async def test_a_name_is_looked_up_once_and_its_address_used(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names(monkeypatch, ["192.0.2.7"], ["127.0.0.1"])
    assert str(await hosts.locate(Host("n1"), 10250, 6443, is_trusted=False)) == "192.0.2.7"
    assert names.asked == 1


async def test_one_address_that_is_not_allowed_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, ["192.0.2.7", "127.0.0.1"])
    with pytest.raises(Unusable, match=r"address 127\.0\.0\.1 is not allowed"):
        await hosts.locate(Host("n1"), 10250, 6443, is_trusted=False)


async def test_a_name_without_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    Names(monkeypatch, [])
    with pytest.raises(Unusable, match="lookup n1: no addresses"):
        await hosts.locate(Host("n1"), 10250, 6443, is_trusted=False)


async def test_the_server_is_no_node_whoever_says_so() -> None:
    """On its own port, under any of this machine's addresses."""
    here = hosts.parse("127.0.0.1")
    assert await hosts.locate(here, 10250, 6443, is_trusted=True) == here.address
    for text in ("127.0.0.1", "127.0.0.2"):
        with pytest.raises(Unusable, match=f"{text}:6443 is this API server"):
            await hosts.locate(hosts.parse(text), 6443, 6443, is_trusted=True)
    assert not hosts.is_local(ipaddress.ip_address("192.0.2.7"))
