import pytest

from flexlet.core.node.addresses import UNSPECIFIED, addresses
from flexlet.core.node.facts import Address


@pytest.mark.parametrize(
    ("hostname", "offered", "internal"),
    [
        ("n", {"node_ips": ["10.0.0.1"], "resolved": ["10.9.9.9"]}, ["10.0.0.1"]),
        ("n", {"node_ips": ["10.0.0.1", "fd00::1"]}, ["10.0.0.1", "fd00::1"]),
        ("10.1.1.1", {"resolved": ["10.9.9.9"]}, ["10.1.1.1"]),
        ("n", {"resolved": ["fd00::2", "10.9.9.9"], "routed": ["10.0.2.15"]}, ["10.9.9.9"]),
        ("n", {"resolved": ["127.0.1.1", "fe80::1"], "routed": ["10.0.2.15"]}, ["10.0.2.15"]),
        ("n", {"node_ips": ["::"], "resolved": ["10.9.9.9", "fd00::2"]}, ["fd00::2"]),
        ("n", {"node_ips": [UNSPECIFIED[0]], "routed": ["fd00::3", "10.0.2.15"]}, ["10.0.2.15"]),
        ("n", {"resolved": ["fd00::2"], "routed": ["10.0.2.15"]}, ["fd00::2"]),
        ("n", {}, []),
    ],
)
def test_addresses_are_chosen_in_order(hostname: str, offered: dict[str, list[str]], internal: list[str]) -> None:
    """The operator's, the name itself, what it resolves to, the way out; the preferred family within each."""
    found = addresses(hostname, **offered)
    assert found == (*(Address("InternalIP", ip) for ip in internal), Address("Hostname", hostname))
