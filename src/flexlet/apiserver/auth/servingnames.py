"""Which names a node may serve TLS under: those its Node reports, never those of the API server or of services.

A node writes its Node's addresses itself, so a report alone proves little: whoever holds a certificate of this
authority for ``kubernetes.default.svc`` or ``localhost`` can pose as the server towards every client that trusts
it. Names are compared as resolvers do, without regard to case and to a final dot; addresses, as numbers.
"""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from cryptography import x509

from flexlet.apiserver.auth.pki import LOCAL_HOSTS

_NAMES: Final = frozenset({"Hostname", "InternalDNS", "ExternalDNS"})
_ADDRESSES: Final = frozenset({"Hostname", "InternalIP", "ExternalIP"})
_RESERVED: Final = ("localhost", "localhost.localdomain", "svc", "svc.cluster.local")
"""Domains of this host and of services: no node is called so."""


def reserved(hosts: Iterable[str]) -> frozenset[str]:
    """The server's own names and addresses, to compare with; `hosts` are those its certificate covers."""
    return frozenset(map(canonical, (*LOCAL_HOSTS, *hosts)))


def reported(addresses: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What a Node's ``status.addresses`` say, each by its type."""
    found = set()
    for entry in addresses:
        kind, text = entry.get("type"), canonical(str(entry.get("address") or ""))
        if kind in (_ADDRESSES if _address(text) else _NAMES):
            found.add(text)
    return frozenset(found)


def is_own(asked: Sequence[x509.GeneralName], own: frozenset[str]) -> bool:
    """Whether some name asked for is the API server's, a service's, this host's or a pattern."""
    return any(_is_own(canonical(str(name.value)), own) for name in asked)


def matches(asked: Sequence[x509.GeneralName], node: frozenset[str]) -> bool:
    """Whether the Node reports every name and address that is asked for."""
    return bool(asked) and all(_fits(name, node) for name in asked)


def canonical(host: str) -> str:
    """A host as it is compared: an address as certificates print it, a name in small letters without final dot."""
    address = _address(host)
    return str(address) if address else host.lower().removesuffix(".")


def _fits(name: x509.GeneralName, node: frozenset[str]) -> bool:
    text = canonical(str(name.value))
    if isinstance(name, x509.IPAddress):
        return _address(text) is not None and text in node
    return isinstance(name, x509.DNSName) and _address(text) is None and text in node


def _is_own(text: str, own: frozenset[str]) -> bool:
    address = _address(text)
    if address is not None:
        return text in own or address.is_loopback or address.is_unspecified
    domain = any(text == suffix or text.endswith(f".{suffix}") for suffix in _RESERVED)
    return domain or "*" in text or text in own


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address; one of IPv4 written as IPv6 is that of IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
