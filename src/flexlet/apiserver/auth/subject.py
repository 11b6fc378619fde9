"""The one reader of identities in X.509: whom a certificate, or a request for one, names.

Admission, the approver, the signer and the authenticator all ask here, so that no door reads a subject differently
from the next. Go's library takes the last of several common names and others the first; here more than one is
refused, as is every part of a subject that nobody looks at, and text that does not print (NUL, control and format
characters), which two readers may cut or show differently. An organization may stand more than once, in one
relative name or in several: each is a group.
"""

from typing import Final, NamedTuple, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import ExtensionOID, NameOID

from flexlet.errors import InputError

Holder: TypeAlias = x509.Certificate | x509.CertificateSigningRequest

UNREADABLE: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
    x509.InvalidVersion,
)
"""What the library raises, while it parses and later at each look, of bytes that are not as X.509 wants them."""

_UID: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
_LABELS: Final = {NameOID.COMMON_NAME: "common name", NameOID.ORGANIZATION_NAME: "organization", _UID: "uid"}

# What a verifier must know before it may believe a certificate that calls it critical. Go's list, without the
# three about policies that Go evaluates and nobody here does. Identifiers of keys and places of authorities are
# not in it: they must not be critical, and Go does not read a certificate that says otherwise.
_HANDLED: Final = frozenset(
    {
        ExtensionOID.KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.NAME_CONSTRAINTS,
        ExtensionOID.CRL_DISTRIBUTION_POINTS,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.EXTENDED_KEY_USAGE,
    }
)
_NAMES: Final = (x509.DNSName, x509.RFC822Name, x509.IPAddress, x509.UniformResourceIdentifier)


class Subject(NamedTuple):
    """A user's name, groups and uid; the name is empty where there is no common name."""

    name: str
    groups: tuple[str, ...]
    uid: str = ""


def read_subject(holder: Holder) -> Subject:
    """Whom it names.

    Raises:
        InputError: it names nobody beyond doubt, or has a critical extension that nobody here knows.
    """
    try:
        parts = list(holder.subject)
        critical = [extension for extension in holder.extensions if extension.critical]
    except UNREADABLE as fault:
        raise InputError(f"subject or extensions cannot be read: {fault}") from fault
    foreign = next((part.oid for part in parts if part.oid not in _LABELS), None)
    if foreign is not None:
        raise InputError(f"subject has a part other than O and CN: {foreign.dotted_string}")
    unknown = sorted(extension.oid.dotted_string for extension in critical if not _is_handled(extension.value))
    if unknown:
        raise InputError(f"critical extension {unknown[0]} is not known")
    return Subject(
        name=_only(parts, NameOID.COMMON_NAME),
        groups=tuple(_text(part) for part in parts if part.oid == NameOID.ORGANIZATION_NAME),
        uid=_only(parts, _UID),
    )


def _is_handled(value: x509.ExtensionType) -> bool:
    """Whether somebody here knows what it says; of alternative names, at least one."""
    if isinstance(value, x509.SubjectAlternativeName):
        return any(isinstance(name, _NAMES) for name in value)
    return value.oid in _HANDLED


def _only(parts: list[x509.NameAttribute[str | bytes]], oid: x509.ObjectIdentifier) -> str:
    values = [_text(part) for part in parts if part.oid == oid]
    if len(values) > 1:
        raise InputError(f"subject has more than one {_LABELS[oid]}")
    return values[0] if values else ""


def _text(part: x509.NameAttribute[str | bytes]) -> str:
    label = _LABELS[part.oid]
    if not isinstance(part.value, str) or not part.value.isprintable():
        raise InputError(f"subject {label} has characters that do not print")
    return part.value
