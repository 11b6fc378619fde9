"""The refusals of paths and methods, in upstream's words."""

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind


def not_allowed() -> status.ApiError:
    """405: the path exists, the method does not."""
    message = "the server does not allow this method on the requested resource"
    return status.failure(405, "MethodNotAllowed", message, status.StatusDetails())


def not_supported(kind: Kind, verb: str) -> status.ApiError:
    """The 405 of custom resources."""
    message = f'{verb} is not supported on resources of kind "{status.qualified(kind.plural, kind.group)}"'
    details = status.StatusDetails(group=kind.group, kind=kind.plural)
    return status.failure(405, "MethodNotAllowed", message, details)


def unknown() -> status.ApiError:
    """404 of paths inside the API that mean nothing."""
    message = "the server could not find the requested resource"
    return status.failure(404, "NotFound", message, status.StatusDetails())
