"""Opening connections, with failures in the words of Go's `net`."""

import asyncio
import os
import socket
import ssl

from flexlet.core.agent.probing.addresses import host_port


class Broken(Exception):
    """The exchange failed; the text is what people are told."""


def unchecked_tls() -> ssl.SSLContext:
    """A context that takes any certificate: a probe asks whether a server answers, not who it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def connect(
    host: str, port: int, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """An open connection, or Broken."""
    try:
        return await asyncio.open_connection(host, port, ssl=tls, server_hostname=host if tls else None)
    except ssl.SSLError as error:
        raise Broken(_tls_text(error)) from error
    except socket.gaierror as error:
        raise Broken(f"dial tcp: lookup {host}: no such host") from error
    except OSError as error:
        raise Broken(f"dial tcp {host_port(host, port)}: connect: {reason(error)}") from error
    except UnicodeError as error:
        raise Broken(f"dial tcp: lookup {host}: no such host") from error


def reason(error: OSError) -> str:
    """Why a call failed, as Go says it."""
    text = os.strerror(error.errno) if error.errno else str(error)
    return text[:1].lower() + text[1:]


def _tls_text(error: ssl.SSLError) -> str:
    # What is not TLS at all is nearly always a server that speaks plain HTTP.
    if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}:
        return "http: server gave HTTP response to HTTPS client"
    return f"remote error: tls: {(error.reason or str(error)).lower().replace('_', ' ')}"
