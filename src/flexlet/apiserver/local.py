"""The API without the wire: `ports.Cluster` straight onto the pipeline, for whoever lives in the same process.

Same rules, same answers, same errors as over HTTPS; only authentication and authorization are left out, because
the caller is the server itself or a part it started. Bodies are taken as trusted JSON values and copied.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from flexlet.api import schema, status
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import LOOPBACK, User
from flexlet.apiserver.rest import deleteoptions, finished
from flexlet.apiserver.rest.call import Call
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.rest.patching import Patch
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.ports.cluster import Change, Listing, Ref


class LocalCluster:
    """A Cluster inside the server's process."""

    def __init__(self, rest: Rest, user: User = LOOPBACK) -> None:
        self._rest = rest
        self._user = user

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        """One object; NotFound if there is none."""
        return self._rest.get(self._call(ref, namespace, name)).value

    async def list(
        self, ref: Ref, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Listing:
        """All objects, or those of a namespace; each with its kind and apiVersion."""
        options = ListOptions(label_selector=label_selector, field_selector=field_selector)
        rows = await self._rest.list(self._kind(ref), namespace, options)
        items = tuple(finished.shown(rows.kind, row.value) for row in rows.rows)
        return Listing(items, str(rows.revision))

    async def watch(
        self,
        ref: Ref,
        resource_version: str,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Sequence[Change]]:
        """Changes after `resource_version`, in batches; an end or Gone means: list again."""
        options = ListOptions(
            label_selector=label_selector, field_selector=field_selector, resource_version=resource_version
        )
        stream = self._rest.watch(self._kind(ref), namespace, options)
        async with aclosing(stream.batches()) as batches:
            async for batch in batches:
                if batch[-1].type == "ERROR":
                    raise status.error_of(status.decode(batch[-1].value, 410))
                yield [Change(event.type, event.value) for event in batch]

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        """Store a new object, or post to a subresource (`path` = ``NAME/binding``)."""
        name, _, subresource = path.partition("/")
        call = self._call(ref, namespace, name, subresource)
        if subresource or not call.kind.stored:
            return (await self._rest.handle(Handled("create", call, finished.copy(body)))).value
        return (await self._rest.create(call, _shaped(call.kind, finished.copy(body)))).value

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
        """Change an object; a resourceVersion inside makes it conditional."""
        call, change = self._call(ref, namespace, name, subresource), Patch(kind, patch)
        if _is_stored(call):
            return (await self._rest.patch(call, change)).value
        return (await self._rest.handle(Handled("patch", call, patch=change))).value

    async def update(
        self, ref: Ref, namespace: str, name: str, body: dict[str, Any], *, subresource: str = ""
    ) -> bytes:
        """Replace the whole object."""
        call = self._call(ref, namespace, name, subresource)
        if _is_stored(call):
            return (await self._rest.update(call, _shaped(call.kind, body))).value
        return (await self._rest.handle(Handled("update", call, finished.copy(body)))).value

    async def delete(self, ref: Ref, namespace: str, name: str, options: dict[str, Any] | None = None) -> None:
        """Delete with optional DeleteOptions."""
        await self._rest.delete(self._call(ref, namespace, name), deleteoptions.from_body(options or {}))

    def _call(self, ref: Ref, namespace: str, name: str, subresource: str = "") -> Call:
        kind = self._kind(ref)
        if bool(namespace) != kind.namespaced or (subresource and kind.subresource(subresource) is None):
            raise _unknown()
        return Call(user=self._user, kind=kind, namespace=namespace, name=name, subresource=subresource)

    def _kind(self, ref: Ref) -> Kind:
        kind = self._rest.registry.lookup(ref.group, ref.version, ref.plural)
        if kind is None:
            raise _unknown()
        return kind


def _is_stored(call: Call) -> bool:
    """Whether a write on this path changes the stored object itself, unlike ``scale``."""
    found = call.kind.subresource(call.subresource) if call.subresource else None
    return found is None or found.update is not None


def _unknown() -> status.ApiError:
    message = "the server could not find the requested resource"
    return status.failure(404, "NotFound", message, status.StatusDetails())


def _shaped(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    """A custom resource as reading it off the wire would leave it; built-in ones are trusted to be right."""
    if not kind.custom:
        return body
    obj = finished.copy({"apiVersion": kind.api_version, "kind": kind.kind, **body})
    try:
        kind.strategy.read(obj, checked=False)
    except schema.Unreadable as fault:
        raise status.bad_request(fault.message) from None
    return obj
