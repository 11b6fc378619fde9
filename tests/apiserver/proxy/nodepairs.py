"""Serving certificates of nodes, as the cluster's signer gives them."""

import ipaddress
import time

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential, Leaf
from flexlet.apiserver.auth.pki import Pki


def node_pair(pki: Pki, node: str, *names: str) -> Credential:
    """The pair of a node, good for `names`; without any, for the node's own."""
    return signed(pki.authority, node, *names)


def signed(authority: Credential, node: str, *names: str) -> Credential:
    """The same from any authority."""
    key = certificates.new_key()
    leaf = Leaf(
        subject=x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
                x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
            ]
        ),
        public_key=key.public_key(),
        usages=frozenset({"digital_signature"}),
        extended=[ExtendedKeyUsageOID.SERVER_AUTH],
        names=[_general_name(name) for name in names or (node,)],
    )
    return Credential(certificates.sign_leaf(authority, leaf, time.time(), 86400), key)


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)
