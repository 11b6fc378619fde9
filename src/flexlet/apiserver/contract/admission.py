"""Admission plugins and what they may see.

A plugin refuses by raising `flexlet.api.status.ApiError` (usually `status.forbidden`). Mutating comes first for
all plugins in order, then validation, then validating for all plugins in order; quota is last. Reads are
synchronous (the store answers from memory); only `validate` may await, because quota writes.
"""

from collections.abc import Iterable
from typing import Protocol

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest


class View(Protocol):
    """Read access to stored objects by bucket (``pods``, ``apps/deployments``); fresh dicts, free to change."""

    def get(self, bucket: str, namespace: str, name: str) -> Object | None:
        """The object, or None."""
        ...

    def list(self, bucket: str, namespace: str = "") -> Iterable[Object]:
        """All objects of a bucket, or those of one namespace."""
        ...


class Plugin:
    """One admission plugin; the base lets everything through."""

    name: str = ""

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Change `request.obj` in place, or refuse."""

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse, or let through."""
