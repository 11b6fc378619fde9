"""Who asks for a certificate: stamped into the request's spec, whatever the client wrote there."""

from typing import Final

from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest, User

FIELDS: Final = ("username", "uid", "groups", "extra")


class CertificateRequester(Plugin):
    """Sets username, uid, groups and extra of a new CertificateSigningRequest; must be in every chain."""

    name = "CertificateRequester"

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """New requests only: no path changes a spec."""
        del view
        created = request.operation == "CREATE" and not request.subresource
        if created and request.kind.plural == "certificatesigningrequests" and request.obj is not None:
            stamp(request.obj, request.user)


def stamp(csr: Object, user: User) -> None:
    """Write the caller into the spec."""
    clear(csr)
    extra = {key: list(values) for key, values in user.extra.items()}
    stamped = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    csr["spec"].update({key: value for key, value in stamped.items() if value})


def clear(csr: Object) -> None:
    """Drop what a client says of itself."""
    for field in FIELDS:
        csr["spec"].pop(field, None)
