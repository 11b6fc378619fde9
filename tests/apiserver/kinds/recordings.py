"""Recorded answers of a real server, with their placeholders filled in, and the kinds they speak of."""

import base64
import functools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.kinds.table import builtin_kinds
from flexlet.core import gates

HTTP = Path(__file__).parents[2] / "data" / "http"
TIME = "2026-01-02T03:04:05Z"
MICROTIME = "2026-01-02T03:04:05.000006Z"
NOW = 1767323045.0
KINDS = builtin_kinds(gates.DEFAULTS, lambda: NOW)

Record = dict[str, Any]


@functools.cache
def certificate_request() -> str:
    """A certificate request, in PEM and base64."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "system:node:n")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def filled(text: str) -> str:
    """A line with values in place of its placeholders."""
    text = text.replace("<time>+00:00", TIME.replace("Z", "+00:00"))
    text = text.replace("<time>", TIME).replace("<microtime>", MICROTIME).replace("<time+1y>", TIME)
    text = text.replace("<base64 pem csr>", certificate_request()).replace("<rand>", "bcdfg")
    text = re.sub(r"<uid:(\d+)>", lambda match: f"00000000-0000-0000-0000-{int(match[1]):012d}", text)
    return re.sub(r"<rv:(\d+)>", lambda match: str(1000 + int(match[1])), text)


@functools.cache
def lines(name: str) -> tuple[Record, ...]:
    """All requests of one file."""
    text = (HTTP / f"{name}.jsonl").read_text()
    return tuple(msgspec.json.decode(filled(line)) for line in text.splitlines())


def line(name: str, seq: int) -> Record:
    """One request of a file, a fresh copy."""
    found: Record = copied(next(record for record in lines(name) if record["seq"] == seq))
    return found


def scenarios(name: str) -> list[Record]:
    """The cases of a file below ``tests/data/kinds``."""
    found: list[Record] = yaml.safe_load((HTTP.parent / "kinds" / f"{name}.yaml").read_text())
    return found


def copied(value: Any) -> Any:
    """A deep copy; recordings are shared between tests."""
    return msgspec.json.decode(msgspec.json.encode(value))


def target(path: str) -> tuple[Kind | None, str, list[str]]:
    """The kind behind a path, the namespace, and what is left: name and subresource."""
    parts = path.strip("/").split("/")
    if len(parts) < 3:
        return None, "", []
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace = ""
    if rest and rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in {"finalize", "status"}:
        namespace, rest = rest[1], rest[2:]
    kind = next((kind for kind in KINDS if rest and (kind.group, kind.plural) == (group, rest[0])), None)
    return kind, namespace, rest[1:]


def kind_of(plural: str, group: str = "") -> Kind:
    """A kind by its plural."""
    return next(kind for kind in KINDS if (kind.group, kind.plural) == (group, plural))


def causes(record: Record) -> Counter[tuple[str, str, str]]:
    """The recorded causes, as a multiset."""
    found = record["response_body"]["details"]["causes"]
    return Counter((cause["field"], cause["reason"], cause["message"]) for cause in found)


def found(errors: list[FieldError]) -> Counter[tuple[str, str, str]]:
    """Errors in the same form."""
    return Counter((error.field, error.reason, error.message) for error in errors)
