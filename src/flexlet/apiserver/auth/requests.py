"""Certificate signing requests: what they ask for, which signer takes them, and the certificate they get.

Pure apart from randomness. Rules and texts follow ``pkg/apis/certificates/helpers.go`` and
``pkg/controller/certificates/{signer,authority}``: SANs and subject of the request are taken over, its other
extensions are not, and no certificate outlives the authority.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID

from flexlet.apiserver.auth.certificates import DAY_S, Credential, Leaf, sign_leaf
from flexlet.apiserver.auth.subject import UNREADABLE, Subject, read_subject
from flexlet.errors import InputError

CLIENT: Final = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
SIGNERS: Final = frozenset({CLIENT, KUBELET_CLIENT, KUBELET_SERVING})

NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"

MAX_LIFETIME_S: Final = 365 * DAY_S
MIN_LIFETIME_S: Final = 600

_SIGNATURE: Final = "digital signature"
_ENCIPHERMENT: Final = "key encipherment"
_CLIENT_AUTH: Final = "client auth"
_SERVER_AUTH: Final = "server auth"

_NOT_OF_NODES: Final = "subject organization is not system:nodes"
_NO_NODE: Final = "subject common name does not begin with system:node:"
_BEGIN: Final = b"-----BEGIN "
_END: Final = b"-----END "
_LONGEST_LINE: Final = 100

_USAGES: Final = {
    "signing": "digital_signature",
    _SIGNATURE: "digital_signature",
    "content commitment": "content_commitment",
    _ENCIPHERMENT: "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
}
_EXTENDED: Final = {
    _SERVER_AUTH: ExtendedKeyUsageOID.SERVER_AUTH,
    _CLIENT_AUTH: ExtendedKeyUsageOID.CLIENT_AUTH,
}


def read_request(data: bytes) -> x509.CertificateSigningRequest:
    """The request in the first PEM block; InputError, in upstream's words, where it is none or was tampered with.

    Everything that is looked at later is looked at here once: the library parses only then.
    """
    kind, block = next(blocks(data), ("", b""))
    if kind != "CERTIFICATE REQUEST":
        raise InputError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_pem_x509_csr(block)
        valid = request.is_signature_valid
        _ = request.subject, request.extensions
    except UNREADABLE as fault:
        raise InputError("asn1: structure error: malformed certificate request") from fault
    if not valid:
        raise InputError("x509: signature does not match")
    return request


def blocks(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The PEM blocks, each with its label. One pass: text that only begins blocks costs no more than any other."""
    place, ends = 0, -1
    while (begins := data.find(_BEGIN, place)) >= 0:
        label, dashes, _ = data[begins + len(_BEGIN) : begins + _LONGEST_LINE].partition(b"-----")
        ends = ends if ends > begins else data.find(_END, begins)
        if ends < 0:
            return
        closing = _END + label + b"-----"
        if not dashes or b"\n" in label or not data.startswith(closing, ends):
            place = begins + len(_BEGIN)
            continue
        place = ends + len(closing)
        yield label.decode(errors="replace"), data[begins:place]


def decoded(encoded: object) -> bytes:
    """The bytes of a base64 field; none where it is not base64."""
    try:
        return b64decode(str(encoded or ""))
    except (binascii.Error, ValueError):
        return b""


def requested(csr: Mapping[str, Any]) -> x509.CertificateSigningRequest:
    """The request inside a CertificateSigningRequest; InputError where it cannot be read."""
    return read_request(decoded((csr.get("spec") or {}).get("request")))


def common_name(request: x509.CertificateSigningRequest) -> str:
    """The subject's common name, empty where it has none; InputError where it names nobody beyond doubt."""
    return read_subject(request).name


def names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    """The names and addresses a request asks for."""
    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def objection(signer: str, request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """Why a signer does not sign the request; empty where it does."""
    try:
        subject = read_subject(request)
    except InputError as fault:
        return fault.message
    if subject.uid:
        return "subject has a part other than O and CN: uid"
    asked = names(request)
    if not all(isinstance(name, _KNOWN_NAMES) for name in asked):
        return "only DNS, Email, IP and URI subjectAltNames are allowed"
    if signer == KUBELET_CLIENT:
        return _kubelet_client_objection(subject, asked, usages)
    if signer == KUBELET_SERVING:
        return _kubelet_serving_objection(subject, asked, usages)
    foreign = next((usage for usage in usages if usage not in {_SIGNATURE, _ENCIPHERMENT, _CLIENT_AUTH}), None)
    if foreign is not None:
        return f"invalid usage for client certificate: {foreign}"
    return "" if _CLIENT_AUTH in usages else f"missing required usage for client certificate: {_CLIENT_AUTH}"


def _kubelet_client_objection(subject: Subject, asked: Sequence[x509.GeneralName], usages: Sequence[str]) -> str:
    if subject.groups != (NODES,):
        return _NOT_OF_NODES
    for kind, label in _NAME_KINDS:
        if any(isinstance(name, kind) for name in asked):
            return f"{label} subjectAltNames are not allowed"
    if not subject.name.startswith(NODE_PREFIX):
        return _NO_NODE
    return _usages_objection(usages, _CLIENT_AUTH)


def _kubelet_serving_objection(subject: Subject, asked: Sequence[x509.GeneralName], usages: Sequence[str]) -> str:
    if subject.groups != (NODES,):
        return _NOT_OF_NODES
    if not any(isinstance(name, x509.DNSName | x509.IPAddress) for name in asked):
        return "DNS or IP subjectAltName is required"
    for kind, label in _NAME_KINDS:
        if label in {"Email", "URI"} and any(isinstance(name, kind) for name in asked):
            return f"{label} subjectAltNames are not allowed"
    wrong = _usages_objection(usages, _SERVER_AUTH)
    if wrong:
        return wrong
    return "" if subject.name.startswith(NODE_PREFIX) else _NO_NODE


# In upstream's order of complaint.
_NAME_KINDS: Final[tuple[tuple[type[x509.GeneralName], str], ...]] = (
    (x509.DNSName, "DNS"),
    (x509.RFC822Name, "Email"),
    (x509.IPAddress, "IP"),
    (x509.UniformResourceIdentifier, "URI"),
)
_KNOWN_NAMES: Final = tuple(kind for kind, _ in _NAME_KINDS)


def _usages_objection(usages: Sequence[str], purpose: str) -> str:
    if set(usages) in ({_SIGNATURE, purpose}, {_SIGNATURE, _ENCIPHERMENT, purpose}):
        return ""
    return f"usages did not match [{' '.join(sorted((_SIGNATURE, _ENCIPHERMENT, purpose)))}]"


def lifetime(expiration_seconds: int | None) -> int:
    """How long a certificate lasts: what was asked for, between ten minutes and a year."""
    if expiration_seconds is None:
        return MAX_LIFETIME_S
    return max(MIN_LIFETIME_S, min(expiration_seconds, MAX_LIFETIME_S))


def sign_request(
    authority: Credential,
    request: x509.CertificateSigningRequest,
    usages: Sequence[str],
    lifetime_s: int,
    now: float,
) -> str:
    """The certificate, as PEM."""
    leaf = Leaf(
        subject=request.subject,
        public_key=request.public_key(),
        usages=frozenset(_USAGES[usage] for usage in usages if usage in _USAGES),
        extended=sorted({_EXTENDED[usage] for usage in usages if usage in _EXTENDED}, key=str),
        names=names(request),
    )
    return sign_leaf(authority, leaf, now, lifetime_s).public_bytes(Encoding.PEM).decode()
