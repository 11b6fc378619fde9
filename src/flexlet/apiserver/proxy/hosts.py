"""Where a node may be: an address or a host name, read strictly, resolved once, and of a kind that nodes have.

What a Node reports of itself is not to be trusted, and the API takes any text there, as upstream's does. So the
text is parsed, never pasted: an IP address without a zone, or an RFC 1123 name. A name is resolved once, and the
address that was looked at is the one that is connected to. Loopback, link-local and the like belong to this
machine: they are only for nodes that whoever runs the server named (``Settings.node_hosts``).
"""

import asyncio
import ipaddress
import re
import socket
from typing import Final

import msgspec

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_NAME: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
# What a resolver takes for a part of an IPv4 address in one of its old spellings (127.1, 0x7f000001, 0177.1).
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_V4_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_THIS_NETWORK: Final = ipaddress.ip_network("0.0.0.0/8")
_RESOLVE_S: Final = 10.0


class Unusable(Exception):
    """A host that is not connected to, and why."""


class Host(msgspec.Struct, frozen=True):
    """An address in its one spelling, or a name in lower case."""

    text: str
    address: IpAddress | None = None


def parse(text: str) -> Host:
    """The host that `text` names; Unusable if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return _name(text)
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise Unusable(f"{text!r} has a zone: it means something else on every machine")
        address = address.ipv4_mapped or address
    return Host(str(address), address)


def _name(text: str) -> Host:
    labels = text.lower().split(".")
    is_name = 0 < len(text) <= _MAX_NAME and all(_LABEL.fullmatch(label) for label in labels)
    if not is_name or _NUMBER.fullmatch(labels[-1]):
        raise Unusable(f"{text[:_MAX_NAME]!r} is neither an IP address nor an RFC 1123 host name")
    return Host(".".join(labels))


def is_nodes(address: IpAddress) -> bool:
    """Whether a node can have the address: global or private unicast, nothing of this machine or link."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_nodes(address.ipv4_mapped)
        if address in _V4_COMPATIBLE:
            return False
    elif address in _THIS_NETWORK or address == ipaddress.IPv4Address("255.255.255.255"):
        return False
    return not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)


async def resolve(host: Host, port: int) -> tuple[IpAddress, ...]:
    """The addresses of a host, looked up once; Unusable if there is none."""
    if host.address is not None:
        return (host.address,)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await loop.getaddrinfo(host.text, port, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise Unusable(f"lookup {host.text}: no answer within {_RESOLVE_S:g} s") from error
    except (OSError, UnicodeError) as error:
        raise Unusable(f"lookup {host.text}: {error}") from error
    addresses = tuple(dict.fromkeys(parse(str(entry[4][0])).address for entry in found))
    return tuple(address for address in addresses if address is not None)


async def locate(host: Host, port: int, own_port: int, *, is_trusted: bool) -> IpAddress:
    """The address to connect to; Unusable if any that the host has is not a node's, or is this server.

    Args:
        host: What was parsed.
        port: The node's port.
        own_port: Where this server listens.
        is_trusted: Whether the host was named by whoever runs the server, and may be on this machine.
    """
    addresses = await resolve(host, port)
    for address in addresses:
        if not is_trusted and not is_nodes(address):
            raise Unusable(f"address {address} is not allowed: it is not one that other machines have")
        if port == own_port and is_local(address):
            raise Unusable(f"{address}:{port} is this API server")
    if not addresses:
        raise Unusable(f"lookup {host.text}: no addresses")
    return addresses[0]


def is_local(address: IpAddress) -> bool:
    """Whether the address is one of this machine: then what is sent to it comes from it. Nothing is sent."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ipaddress.ip_address(probe.getsockname()[0]) == address
    except OSError:
        return False  # no way there at all
