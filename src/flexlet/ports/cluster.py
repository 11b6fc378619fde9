"""A Kubernetes API as the controllers, the scheduler and the nodes see it.

Two adapters obey it: the in-process face of the embedded server and the HTTP client for a real one. Objects
arrive as JSON bytes, so each reader decodes just the fields it needs (`flexlet.api.decode.from_json`); writes are
patches or new objects as plain values. Failures are `flexlet.api.status.ApiError`.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import msgspec


class Ref(msgspec.Struct, frozen=True):
    """A resource collection: group, version, plural."""

    group: str
    version: str
    plural: str


PODS = Ref("", "v1", "pods")
NODES = Ref("", "v1", "nodes")
NAMESPACES = Ref("", "v1", "namespaces")
EVENTS = Ref("", "v1", "events")
LEASES = Ref("coordination.k8s.io", "v1", "leases")


class Listing(msgspec.Struct, frozen=True):
    """The objects of a list and the version a watch goes on from."""

    items: tuple[bytes, ...]
    resource_version: str


class Change(msgspec.Struct, frozen=True):
    """One watch event: ADDED, MODIFIED or DELETED, and the object's bytes."""

    type: str
    object: bytes


class Cluster(Protocol):
    """Reads and writes; one method per HTTP verb that flexlet uses."""

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        """One object; NotFound if there is none."""
        ...

    async def list(
        self, ref: Ref, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Listing:
        """All objects, or those of a namespace."""
        ...

    def watch(
        self,
        ref: Ref,
        resource_version: str,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Sequence[Change]]:
        """Changes after `resource_version`, in batches as they come; an end or Gone means: list again."""
        ...

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        """POST a new object, or to a subresource (`path` = ``NAME/binding``)."""
        ...

    async def patch(
        self,
        ref: Ref,
        namespace: str,
        name: str,
        patch: Any,
        *,
        kind: str = "merge",
        subresource: str = "",
    ) -> bytes:
        """PATCH (``merge``, ``json`` or ``strategic``); a resourceVersion inside makes it conditional."""
        ...

    async def update(
        self, ref: Ref, namespace: str, name: str, body: dict[str, Any], *, subresource: str = ""
    ) -> bytes:
        """PUT the whole object."""
        ...

    async def delete(self, ref: Ref, namespace: str, name: str, options: dict[str, Any] | None = None) -> None:
        """DELETE with optional DeleteOptions."""
        ...
