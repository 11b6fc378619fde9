"""What a node asks for: subject, names, usages, signer; and the request it makes of it.

The rules are those of the two signers: a client certificate has no names at all, a serving certificate has every
name and address the node is known by, and at least one address.
"""

import hashlib
import ipaddress
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Any, Final

import msgspec

CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER: Final = "kubernetes.io/kubelet-serving"
NODES: Final = "system:nodes"
_NAMES: Final = frozenset({"Hostname", "InternalDNS", "ExternalDNS"})
_ADDRESSES: Final = frozenset({"Hostname", "InternalIP", "ExternalIP"})


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate as it should be. Keys are elliptic, so nothing is ever enciphered with them."""

    signer: str
    common_name: str
    organizations: tuple[str, ...] = (NODES,)
    dns_names: tuple[str, ...] = ()
    ips: tuple[str, ...] = ()
    usages: tuple[str, ...]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate as it is; times are seconds since the epoch."""

    begins: float
    ends: float
    common_name: str
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    ips: tuple[str, ...] = ()


def client(node: str) -> Wanted:
    """What identifies a node to the API server."""
    usages = ("digital signature", "client auth")
    return Wanted(signer=CLIENT_SIGNER, common_name=f"system:node:{node}", usages=usages)


def serving(node: str, addresses: Iterable[tuple[str, str]]) -> Wanted | None:
    """What the node's endpoint shows, from its addresses (type, address); None until it has an IP."""
    found = [(kind, address) for kind, address in addresses if address]
    ips = {str(ip) for kind, address in found if kind in _ADDRESSES and (ip := _ip(address))}
    if not ips:
        return None
    names = {address for kind, address in found if kind in _NAMES and not (kind == "Hostname" and _ip(address))}
    return Wanted(
        signer=SERVING_SIGNER,
        common_name=f"system:node:{node}",
        dns_names=tuple(sorted(names)),
        ips=tuple(sorted(ips)),
        usages=("digital signature", "server auth"),
    )


def satisfies(held: Held, wanted: Wanted) -> bool:
    """Whether a certificate has everything that is asked for; having more is no reason to renew it."""
    return (
        held.common_name == wanted.common_name
        and set(wanted.organizations) <= set(held.organizations)
        and set(wanted.dns_names) <= set(held.dns_names)
        and set(wanted.ips) <= set(held.ips)
    )


def request_body(wanted: Wanted, csr_pem: bytes, name: str = "") -> dict[str, Any]:
    """The CertificateSigningRequest; without a name the server makes one."""
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name} if name else {"generateName": "csr-"},
        "spec": {
            "request": b64encode(csr_pem).decode(),
            "signerName": wanted.signer,
            "usages": list(wanted.usages),
        },
    }


def digested_name(public_key_der: bytes, wanted: Wanted) -> str:
    """The name of a node's first request: whoever starts again with the same key finds it again."""
    parts = (
        public_key_der,
        *(text.encode() for text in (wanted.common_name, *wanted.organizations, *wanted.usages)),
    )
    # The bar is no base64 digit, so no two lists of parts give the same text.
    text = b"".join(_encoded(part) + b"|" for part in parts)
    return f"node-csr-{_encoded(hashlib.new('sha512_256', text).digest()).decode()}"


def _encoded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
