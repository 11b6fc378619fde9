"""The one entrance: every verb on every kind."""

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.rest import collection, create, delete, finished, listing, patching, update
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Answer, Call, not_found
from flexlet.apiserver.rest.deleteoptions import DEFAULT, DeleteOptions
from flexlet.apiserver.rest.handlers import Handled, Handlers
from flexlet.apiserver.rest.listing import Rows
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.rest.patching import Patch
from flexlet.apiserver.rest.selection import Facts, select
from flexlet.apiserver.rest.watching import Stream


class Rest:
    """Create, read, list, watch, update, patch and delete on one store."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.registry = backend.registry
        self.handlers: Handlers = {}
        self._facts = Facts()
        self.registry.listen(self._kind_changed)

    def _kind_changed(self, kind: Kind, served: bool) -> None:
        """Whoever watches a custom kind must look at it anew when its definition changes or goes."""
        del served
        if kind.custom:
            self._facts = Facts()
            self.backend.store.end_watches(kind.storage_bucket)

    async def reach(self, resource_version: str) -> None:
        """Wait a little until the store is at least at this version."""
        await listing.reach(self.backend, resource_version)

    def get(self, call: Call) -> Answer:
        """One object as it is."""
        row = self.backend.store.get(call.bucket, call.key)
        if row is None:
            raise not_found(call)
        return Answer(finished.shown(call.kind, row.value), 200, call.kind)

    def require(self, call: Call) -> None:
        """NotFound unless the object is there."""
        if self.backend.store.head(call.bucket, call.key) is None:
            raise not_found(call)

    async def list(self, kind: Kind, namespace: str, options: ListOptions) -> Rows:
        """The objects of a kind, or a page of them, as rows."""
        selection = select(kind, self._facts, options.label_selector, options.field_selector)
        return await listing.list_rows(self.backend, kind, namespace, options, selection)

    def watch(self, kind: Kind, namespace: str, options: ListOptions) -> Stream:
        """The changes of a kind."""
        selection = select(kind, self._facts, options.label_selector, options.field_selector)
        return Stream(self.backend, kind, namespace, options, selection)

    async def create(self, call: Call, obj: Object) -> Answer:
        """Store a new object."""
        return await create.create(self.backend, call, obj)

    async def update(self, call: Call, obj: Object) -> Answer:
        """Replace an object, on its main path or a subresource that writes it."""
        return await update.update(self.backend, call, obj)

    async def patch(self, call: Call, patch: Patch) -> Answer:
        """Change an object, on its main path or a subresource that writes it."""
        return await patching.patch(self.backend, call, patch)

    async def delete_collection(self, call: Call, listed: ListOptions, options: DeleteOptions) -> Rows:
        """Delete everything a list would show; gives that list."""
        selection = select(call.kind, self._facts, listed.label_selector, listed.field_selector)
        return await collection.delete_collection(self.backend, call, listed, selection, options)

    async def handle(self, request: Handled) -> Answer:
        """Serve a path that is no stored object."""
        call = request.call
        handler = self.handlers.get((call.kind.group, call.kind.plural, call.subresource))
        if handler is None:
            message = f"{call.kind.plural}/{call.subresource} is not served by flexlet"
            raise status.failure(404, "NotFound", message, status.StatusDetails())
        return await handler(request)

    async def delete(self, call: Call, options: DeleteOptions = DEFAULT) -> Answer:
        """Delete an object, or start to."""
        return await delete.delete(self.backend, call, options)
