"""Certificate signing requests: what they ask for, which signer takes them, and the certificate they get.

Pure apart from randomness. Rules and texts follow ``pkg/apis/certificates/helpers.go`` and
``pkg/controller/certificates/{signer,authority}``: SANs and subject of the request are taken over, its other
extensions are not, and no certificate outlives the authority.
"""

from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexlet.apiserver.auth.certificates import DAY_S, Credential, Leaf, sign_leaf
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


def read_request(pem: bytes) -> x509.CertificateSigningRequest:
    """The request; InputError where it is none or its signature is wrong."""
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in pem:
        raise InputError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_pem_x509_csr(pem)
        if request.is_signature_valid:
            return request
    except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
        raise InputError(f"unable to parse certificate request: {exc}") from exc
    raise InputError("unable to verify certificate request signature")


def common_name(request: x509.CertificateSigningRequest) -> str:
    """The subject's common name, empty where it has none."""
    return next((str(name.value) for name in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)), "")


def names(request: x509.CertificateSigningRequest) -> set[str]:
    """The names and addresses a request asks for, as text."""
    return {str(name.value) for name in _names(request)}


def objection(signer: str, request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """Why a signer does not sign the request; empty where it does."""
    if signer == KUBELET_CLIENT:
        return kubelet_client_objection(request, usages)
    if signer == KUBELET_SERVING:
        return kubelet_serving_objection(request, usages)
    foreign = next((usage for usage in usages if usage not in {_SIGNATURE, _ENCIPHERMENT, _CLIENT_AUTH}), None)
    if foreign is not None:
        return f"invalid usage for client certificate: {foreign}"
    return "" if _CLIENT_AUTH in usages else f"missing required usage for client certificate: {_CLIENT_AUTH}"


def kubelet_client_objection(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """Why a request is not one for a kubelet's client certificate; empty where it is."""
    names = _names(request)
    if not _of_nodes(request):
        return "subject organization is not system:nodes"
    for kind, label in _NAME_KINDS:
        if any(isinstance(name, kind) for name in names):
            return f"{label} subjectAltNames are not allowed"
    if not common_name(request).startswith(NODE_PREFIX):
        return "subject common name does not begin with system:node:"
    return _usages_objection(usages, _CLIENT_AUTH)


def kubelet_serving_objection(request: x509.CertificateSigningRequest, usages: Sequence[str]) -> str:
    """Why a request is not one for a kubelet's serving certificate; empty where it is."""
    names = _names(request)
    if not _of_nodes(request):
        return "subject organization is not system:nodes"
    if not any(isinstance(name, x509.DNSName | x509.IPAddress) for name in names):
        return "DNS or IP subjectAltName is required"
    for kind, label in _NAME_KINDS:
        if label in {"Email", "URI"} and any(isinstance(name, kind) for name in names):
            return f"{label} subjectAltNames are not allowed"
    wrong = _usages_objection(usages, _SERVER_AUTH)
    if wrong:
        return wrong
    is_node = common_name(request).startswith(NODE_PREFIX)
    return "" if is_node else "subject common name does not begin with system:node:"


# In upstream's order of complaint.
_NAME_KINDS: Final[tuple[tuple[type[x509.GeneralName], str], ...]] = (
    (x509.DNSName, "DNS"),
    (x509.RFC822Name, "Email"),
    (x509.IPAddress, "IP"),
    (x509.UniformResourceIdentifier, "URI"),
)


def _usages_objection(usages: Sequence[str], purpose: str) -> str:
    if set(usages) in ({_SIGNATURE, purpose}, {_SIGNATURE, _ENCIPHERMENT, purpose}):
        return ""
    return f"usages did not match [{' '.join(sorted((_SIGNATURE, _ENCIPHERMENT, purpose)))}]"


def _of_nodes(request: x509.CertificateSigningRequest) -> bool:
    organizations = request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [organization.value for organization in organizations] == [NODES]


def _names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


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
        names=_names(request),
    )
    return sign_leaf(authority, leaf, now, lifetime_s).public_bytes(Encoding.PEM).decode()
