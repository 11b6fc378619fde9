"""Who is at the other end of a connection, as far as TLS says."""

import asyncio
import hashlib
from typing import Any, Final

import msgspec


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """A client certificate that the handshake verified against the client CA."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    """Of the attribute that Kubernetes keeps a user's uid in."""
    sha256: str = ""


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """The other end."""

    address: str = ""
    certificate: Certificate | None = None


USER_UID: Final = "1.3.6.1.4.1.57683.2"


def peer_of(writer: asyncio.StreamWriter) -> Peer:
    """The peer of a connection that is open."""
    name = writer.get_extra_info("peername")
    tls = writer.get_extra_info("ssl_object")
    shown: dict[str, Any] = (tls.getpeercert() if tls else None) or {}
    if not shown:
        return Peer(address=name[0] if name else "")
    subject = [pair for relative in shown.get("subject", ()) for pair in relative]
    names = [value for key, value in subject if key == "commonName"]
    certificate = Certificate(
        # Readers differ in which of several names they take; such a certificate names nobody.
        common_name=names[0] if len(names) == 1 else "",
        organizations=tuple(value for key, value in subject if key == "organizationName"),
        uids=tuple(value for key, value in subject if key == USER_UID),
        sha256=hashlib.sha256(tls.getpeercert(binary_form=True)).hexdigest(),
    )
    return Peer(address=name[0] if name else "", certificate=certificate)
