"""CertificateApproval, CertificateSigning, CertificateSubjectRestriction: who may decide over which signer.

To approve or to sign takes, besides the right to write, the verb ``approve`` or ``sign`` on the signer's name or
on all names of its domain. And no certificate that clients show to the API may be in ``system:masters``.
"""

import base64
import binascii
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from flexlet.apiserver.admission.authorizer import Authorizer
from flexlet.apiserver.admission.refusal import CREATE, UPDATE, forbidden
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest, Attributes, User

GROUP: Final = "certificates.k8s.io"
CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"


class CertificateApproval(Plugin):
    """Guards ``/approval``."""

    name = "CertificateApproval"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """The signer's name is read from the stored request: the body may lie."""
        del view
        if not _is_update_of(request, "approval"):
            return
        signer = _signer(request.old)
        if not may(self._authorizer, request.user, "approve", signer):
            raise forbidden(request, f'user not permitted to approve requests with signerName "{signer}"')


class CertificateSigning(Plugin):
    """Guards ``/status`` where it changes the certificate or the conditions."""

    name = "CertificateSigning"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Other parts of the status are free."""
        del view
        if not _is_update_of(request, "status"):
            return
        before, after = ((obj or {}).get("status") or {} for obj in (request.old, request.obj))
        if all(before.get(key) == after.get(key) for key in ("certificate", "conditions")):
            return
        signer = _signer(request.old)
        if not may(self._authorizer, request.user, "sign", signer):
            raise forbidden(request, f'user not permitted to sign requests with signerName "{signer}"')


class CertificateSubjectRestriction(Plugin):
    """Guards creation."""

    name = "CertificateSubjectRestriction"

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse a client certificate that would be all-powerful."""
        del view
        if not is_signing_request(request) or request.operation != CREATE or request.subresource:
            return
        if _signer(request.obj) != CLIENT_SIGNER:
            return
        try:
            groups = subject_values(request.obj or {}, NameOID.ORGANIZATION_NAME)
        except ValueError as error:
            raise forbidden(request, f"failed to parse CSR: {error}") from error
        if "system:masters" in groups:
            raise forbidden(request, f"use of {CLIENT_SIGNER} signer with system:masters group is not allowed")


def may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """Whether the user has the verb on this signer or on its whole domain."""
    domain = signer.split("/", 1)[0]
    return any(
        authorizer.decide(
            Attributes(user=user, verb=verb, group=GROUP, version="*", resource="signers", name=name)
        ).allowed
        for name in (signer, f"{domain}/*")
    )


def subject_values(obj: Object, oid: x509.ObjectIdentifier) -> list[str]:
    """The values of one part of the subject that a certificate is requested for; ValueError if unreadable."""
    try:
        pem = base64.b64decode((obj.get("spec") or {}).get("request") or "", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    subject = x509.load_pem_x509_csr(pem).subject
    return [str(attribute.value) for attribute in subject.get_attributes_for_oid(oid)]


def is_signing_request(request: AdmissionRequest) -> bool:
    """Whether this is about a CertificateSigningRequest."""
    return request.kind.plural == "certificatesigningrequests" and request.kind.group == GROUP


def _is_update_of(request: AdmissionRequest, subresource: str) -> bool:
    return request.subresource == subresource and request.operation == UPDATE and is_signing_request(request)


def _signer(obj: Object | None) -> str:
    return str(((obj or {}).get("spec") or {}).get("signerName", ""))
