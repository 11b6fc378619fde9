"""NamespaceLifecycle: nothing new in namespaces that are missing or going away; three namespaces stay for ever."""

from typing import Final

from flexlet.api import status
from flexlet.api.status import StatusCause
from flexlet.apiserver.admission.refusal import CREATE, DELETE, forbidden
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_NOT_STORED: Final = "localsubjectaccessreviews"


class NamespaceLifecycle(Plugin):
    """Runs first: the other plugins may rely on the namespace."""

    name = "NamespaceLifecycle"

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse creation outside a living namespace, and the deletion of the immortal ones.

        An update needs no look: the object could not be there without its namespace.
        """
        kind = request.kind
        if kind.plural == "namespaces" and not kind.group:
            if request.operation == DELETE and request.name in IMMORTAL:
                raise forbidden(request, "this namespace may not be deleted")
        elif _needs_namespace(request):
            self._check_living(request, view)

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Look again: the namespace may have gone while a large object was read and validated."""
        if _needs_namespace(request):
            self._check_living(request, view)

    def _check_living(self, request: AdmissionRequest, view: View) -> None:
        namespace = view.get("namespaces", "", request.namespace)
        if namespace is None:
            raise status.not_found("namespaces", "", request.namespace)
        if (namespace.get("status") or {}).get("phase") == "Terminating":
            raise _terminating(request)


def _needs_namespace(request: AdmissionRequest) -> bool:
    return request.operation == CREATE and bool(request.namespace) and request.kind.plural != _NOT_STORED


def _terminating(request: AdmissionRequest) -> status.ApiError:
    cause = StatusCause(
        reason="NamespaceTerminating",
        message=f"namespace {request.namespace} is being terminated",
        field="metadata.namespace",
    )
    detail = f"unable to create new content in namespace {request.namespace} because it is being terminated"
    return forbidden(request, detail, [cause])
