"""CertificateApproval, CertificateSigning, CertificateSubjectRestriction: who may decide over which signer.

To approve or to sign takes, besides the right to write, the verb ``approve`` or ``sign`` on the signer's name or
on all names of its domain. And no certificate that clients show to the API may be in ``system:masters``.
"""

from typing import Final

from flexlet.apiserver.admission.authorizer import Authorizer
from flexlet.apiserver.admission.refusal import CREATE, UPDATE, forbidden
from flexlet.apiserver.auth.requests import requested
from flexlet.apiserver.auth.subject import read_subject
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest, Attributes, User
from flexlet.errors import InputError

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
            subject = read_subject(requested(request.obj or {}))
        except InputError as error:
            raise forbidden(request, f"failed to parse CSR: {error.message}") from error
        if "system:masters" in subject.groups:
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


def is_signing_request(request: AdmissionRequest) -> bool:
    """Whether this is about a CertificateSigningRequest."""
    return request.kind.plural == "certificatesigningrequests" and request.kind.group == GROUP


def _is_update_of(request: AdmissionRequest, subresource: str) -> bool:
    return request.subresource == subresource and request.operation == UPDATE and is_signing_request(request)


def _signer(obj: Object | None) -> str:
    return str(((obj or {}).get("spec") or {}).get("signerName", ""))
