"""What every operation of the pipeline works with: store, kinds, admission, clock; and the View built on them."""

import functools
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, TypeAlias, cast

import msgspec

from flexlet.api import status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.admission import Plugin
from flexlet.apiserver.contract.kind import Kind, Object, object_key
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.forms import Forms
from flexlet.apiserver.rest.registry import Registry
from flexlet.apiserver.store.store import Store

_decode: Final = msgspec.json.Decoder().decode


Created: TypeAlias = Callable[[Object], Awaitable[None]]
Deleting: TypeAlias = Callable[[Object, str], bool]
"""Takes the object and the present time."""


class StoreView:
    """Read access for admission and handlers: committed state, fresh dicts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, bucket: str, namespace: str, name: str) -> Object | None:
        """The object, or None."""
        row = self._store.get(bucket, object_key(namespace, name))
        return None if row is None else cast("Object", _decode(row.value))

    def list(self, bucket: str, namespace: str = "") -> Iterator[Object]:
        """All objects of a bucket, or those of one namespace."""
        rows = self._store.list(bucket, f"{namespace}/" if namespace else "")
        return (cast("Object", _decode(row.value)) for row in rows)


class Backend:
    """Store, kinds, admission and clock of one server."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        plugins: Sequence[Plugin] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.registry = registry
        self.plugins = tuple(plugins)
        self.clock = clock
        self.view = StoreView(store)
        self.forms = Forms()
        self.created: dict[str, Created] = {}
        """By bucket: what else must exist before a creation is answered."""
        self.deleting: dict[str, Deleting] = {}
        """By bucket: marks an object as on its way out, in place; False if it is already."""

    def group_of(self, kind: Kind) -> str:
        """The group error texts name: that of the stored form."""
        if kind.storage_version:
            return kind.group
        stored = self.registry.stored_in(kind.storage_bucket)
        return kind.group if stored is None else stored.group

    def invalid(self, kind: Kind, obj: Object, name: str, errors: Sequence[FieldError]) -> status.ApiError:
        """422 for an object; a custom resource is named as it names itself."""
        if kind.custom:
            return status.invalid(obj["kind"], obj["apiVersion"].rpartition("/")[0], name, errors)
        return status.invalid(kind.kind, self.group_of(kind), name, errors)

    def timestamp(self, ahead_s: int = 0) -> str:
        """Now, or a little later, as Kubernetes writes it."""
        return rfc3339(self.clock() + ahead_s)

    def mutate(self, request: AdmissionRequest) -> None:
        """Let every plugin change the object, in order."""
        for plugin in self.plugins:
            plugin.mutate(request, self.view)

    async def validate(self, request: AdmissionRequest) -> None:
        """Let every plugin look at what is going to be stored, in order."""
        for plugin in self.plugins:
            await plugin.validate(request, self.view)


def admission_request(
    call: Call, operation: str, obj: Object | None, old: Object | None = None
) -> AdmissionRequest:
    """The call as admission sees it; warnings end up with the caller."""
    return AdmissionRequest(
        operation=operation,
        user=call.user,
        kind=call.kind,
        subresource=call.subresource,
        namespace=call.namespace,
        name=call.name,
        obj=obj,
        old=old,
        dry_run=call.options.dry_run,
        warnings=call.warnings,
    )


def rfc3339(now: float) -> str:
    """Seconds since the epoch as ``2026-01-31T23:59:59Z``."""
    return _second(math.floor(now))


@functools.lru_cache(maxsize=64)
def _second(second: int) -> str:
    """One second's text; all writes of that second share it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
