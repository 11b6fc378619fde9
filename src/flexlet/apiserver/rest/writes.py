"""The last step of updates and deletions: compare-and-swap in the store, or nothing at all on a dry run."""

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.rest import finished
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Answer, Call
from flexlet.apiserver.store.rows import Row


async def replace(backend: Backend, call: Call, row: Row, obj: Object, old: Object) -> Answer:
    """Store `obj` in place of the row; what changes nothing is not stored."""
    kind = call.kind
    obj["kind"], obj["apiVersion"] = old["kind"], old["apiVersion"]
    if _is_unchanged(call, row, obj, old):
        return Answer(finished.shown(kind, row.value), 200, kind)
    if call.options.dry_run:
        return Answer(finished.shown(kind, finished.encode(kind, obj, row.revision)), 200, kind)
    ends = "deletionTimestamp" in obj["metadata"]  # such a write is taken on a full disk as well
    encode = finished.encode if ends else finished.storable
    stored = await backend.store.update(
        call.bucket, call.key, row.revision, lambda revision: encode(kind, obj, revision), ends=ends
    )
    return Answer(finished.shown(kind, stored.value), 200, kind)


def _is_unchanged(call: Call, row: Row, obj: Object, old: Object) -> bool:
    """Free JSON is compared as it is written: to Python, true is 1."""
    if not call.kind.custom:
        return obj == old
    return finished.encode(call.kind, obj, row.revision) == row.value


async def remove(backend: Backend, call: Call, row: Row, obj: Object) -> bytes:
    """Take the row out; `obj` is its last state. Gives the object as its watchers saw it go."""
    kind = call.kind
    if call.options.dry_run:
        return finished.shown(kind, finished.encode(kind, obj, row.revision))
    gone = await backend.store.delete(
        call.bucket, call.key, row.revision, lambda revision: finished.encode(kind, obj, revision)
    )
    return finished.shown(kind, gone.value)
