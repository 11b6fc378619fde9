"""What must be there before anybody asks: the objects of a new server, and those every new namespace comes with.

They are stored directly, past admission: they are what admission relies on.
"""

import contextlib
from typing import Final

from flexlet.apiserver.auth.bootstrap import ensure, initial_objects
from flexlet.apiserver.auth.bootstrap import finished as completed
from flexlet.apiserver.contract.kind import Object, object_key
from flexlet.apiserver.housekeeping.serviceaccounts import companions
from flexlet.apiserver.rest import finished
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.store.errors import KeyExists
from flexlet.errors import InvariantBroken

NAMESPACES: Final = "namespaces"


class FirstObjects:
    """Stores what is missing."""

    def __init__(self, backend: Backend, ca_pem: str) -> None:
        self._backend = backend
        self._ca_pem = ca_pem

    async def bootstrap(self) -> None:
        """Everything a new server starts with; then namespaces get their companions as they are created."""
        first = initial_objects(self._ca_pem)
        namespaces = [placed.obj["metadata"]["name"] for placed in first if placed.bucket == NAMESPACES]
        for name in namespaces:
            first.extend(companions(name, self._ca_pem))
        await ensure(first, self._backend.view, self._store, self._backend.clock())
        self._backend.created[NAMESPACES] = self._accompany

    async def _accompany(self, namespace: Object) -> None:
        for placed in companions(namespace["metadata"]["name"], self._ca_pem):
            with contextlib.suppress(KeyExists):
                await self._store(placed.bucket, completed(placed.obj, self._backend.clock()))

    async def _store(self, bucket: str, obj: Object) -> object:
        kind = self._backend.registry.stored_in(bucket)
        if kind is None:
            raise InvariantBroken(f"nothing serves the bucket {bucket}")
        metadata = obj["metadata"]
        key = object_key(metadata.get("namespace", ""), metadata["name"])
        return await self._backend.store.create(bucket, key, lambda revision: finished.encode(kind, obj, revision))
