"""Under which addresses a node can be reached, chosen from what the operator and the machine offer.

In this order: the addresses the operator gave, the host's name if it is an address, what the name resolves to, the
address on the way to the default gateway. IPv4 is preferred unless the operator asked for IPv6 (``::``).
"""

import ipaddress
from collections.abc import Iterable, Sequence

from flexlet.core.node.facts import Address

UNSPECIFIED = ("0.0.0.0", "::")  # noqa: S104 an address that names a family, nothing is bound to it


def addresses(
    hostname: str, *, node_ips: Sequence[str] = (), resolved: Iterable[str] = (), routed: Iterable[str] = ()
) -> tuple[Address, ...]:
    """The node's addresses; the host's name alone if nothing else is known."""
    given = [ip for ip in node_ips if ip not in UNSPECIFIED]
    internal = given[:2] or _chosen(hostname, [*node_ips, ""][0], resolved, routed)
    return (*(Address("InternalIP", ip) for ip in internal), Address("Hostname", hostname))


def _chosen(hostname: str, wish: str, resolved: Iterable[str], routed: Iterable[str]) -> list[str]:
    if _is_address(hostname):
        return [hostname]
    found = sorted(filter(_is_useful, resolved), key=lambda ip: (":" in ip) != (":" in wish))
    found += sorted(routed, key=lambda ip: (":" in ip) != (":" in wish))
    return found[:1]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_useful(text: str) -> bool:
    """Not an address that others could not reach the node by."""
    ip = ipaddress.ip_address(text)
    return not (ip.is_loopback or ip.is_multicast or ip.is_link_local or ip.is_unspecified)
