"""How a plugin says no: 403 on the object, in the words of the admission chain."""

from collections.abc import Sequence

from flexlet.api import status
from flexlet.api.status import ApiError, StatusCause
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

CREATE = "CREATE"
UPDATE = "UPDATE"
DELETE = "DELETE"


def forbidden(request: AdmissionRequest, detail: str, causes: Sequence[StatusCause] = ()) -> ApiError:
    """The refusal of this request."""
    return status.forbidden(request.kind.plural, request.kind.group, name_of(request), detail, causes)


def name_of(request: AdmissionRequest) -> str:
    """The object's name, or the prefix of the one it is about to get."""
    metadata = (request.obj or {}).get("metadata") or {}
    name: str = request.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return name


def joined(problems: Sequence[str]) -> str:
    """Several findings as one text; equal ones are said once."""
    texts = list(dict.fromkeys(problems))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def is_pod(request: AdmissionRequest) -> bool:
    """Whether this is about a pod or one of its subresources."""
    return request.kind.plural == "pods" and not request.kind.group


def new_pod(request: AdmissionRequest) -> Object | None:
    """The pod about to be created, None for any other request."""
    if request.operation == CREATE and not request.subresource and is_pod(request):
        return request.obj
    return None
