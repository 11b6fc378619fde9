"""Delete: preconditions, grace, finalizers, propagation; one object or a whole collection.

Only pods are deleted gracefully: the object stays, marked, until the node confirms with a period of 0. Finalizers
keep any object until they are removed by an update. A deletion without grace of a kind that has it is two writes,
the mark and the removal, as watchers of kube-apiserver know it.
"""

import calendar
import time
from typing import Final

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds.pod.deletion import deletion_grace
from flexlet.apiserver.rest import finished, writes
from flexlet.apiserver.rest.backend import Backend, admission_request, rfc3339
from flexlet.apiserver.rest.call import Answer, Call, not_found, status_answer
from flexlet.apiserver.rest.deleteoptions import DEFAULT, DeleteOptions, check
from flexlet.apiserver.rest.propagation import finalizers_after, warn_of_default
from flexlet.apiserver.store.errors import RevisionMismatch
from flexlet.apiserver.store.rows import Row

PODS: Final = "pods"
NAMESPACES: Final = "namespaces"


async def delete(backend: Backend, call: Call, options: DeleteOptions = DEFAULT) -> Answer:
    """Delete one object, or mark it as going away; tried again when it changed meanwhile."""
    warn_of_default(call, options)
    while True:
        row = backend.store.head(call.bucket, call.key)
        if row is None:
            raise not_found(call)
        try:
            return await _delete_once(backend, call, row, check(options))
        except RevisionMismatch:
            continue


async def _delete_once(backend: Backend, call: Call, row: Row, options: DeleteOptions) -> Answer:
    obj = finished.decode(call.kind, row.value)
    request = admission_request(call, "DELETE", None, finished.decode(call.kind, row.value))
    backend.mutate(request)
    require(call.kind, obj, options)
    await backend.validate(request)
    mark = backend.deleting.get(call.bucket)
    if mark is not None and mark(obj, backend.timestamp()):
        return await _mark(backend, call, row, obj)
    if call.bucket == NAMESPACES and _start_termination(backend, obj):
        return await _mark(backend, call, row, obj)
    if call.bucket == NAMESPACES and obj.get("spec", {}).get("finalizers"):
        return Answer(finished.shown(call.kind, row.value), 200, call.kind)
    graceful = call.bucket == PODS and _grace(backend, obj, options)
    if graceful == "pending":
        return Answer(finished.shown(call.kind, row.value), 200, call.kind)
    return await _proceed(backend, call, row, obj, options, marked=graceful == "marked")


async def _proceed(
    backend: Backend, call: Call, row: Row, obj: Object, options: DeleteOptions, *, marked: bool
) -> Answer:
    metadata = obj["metadata"]
    finalizers = finalizers_after(call.kind, metadata.get("finalizers") or [], options)
    if finalizers:
        metadata["finalizers"] = finalizers
        if not marked:
            _mark_deleting(backend, metadata)
        return await _mark(backend, call, row, obj)
    metadata.pop("finalizers", None)
    if not marked:
        return await _remove(backend, call, row, obj)
    answer = await _mark(backend, call, row, obj)
    if metadata["deletionGracePeriodSeconds"] > 0 or call.options.dry_run:
        return answer
    marked_row = backend.store.head(call.bucket, call.key)
    return answer if marked_row is None else await _remove(backend, call, marked_row, obj)


async def _mark(backend: Backend, call: Call, row: Row, obj: Object) -> Answer:
    """Store the object as one that is going away."""
    return await writes.replace(backend, call, row, obj, finished.decode(call.kind, row.value))


async def _remove(backend: Backend, call: Call, row: Row, obj: Object) -> Answer:
    kind = call.kind
    value = await writes.remove(backend, call, row, obj)
    if kind.delete_answers_object:
        return Answer(value, 200, kind)
    uid = obj["metadata"].get("uid", "")
    details = status.StatusDetails(name=call.name, group=kind.group, kind=kind.plural, uid=uid)
    return status_answer(status.success(details))


def require(kind: Kind, obj: Object, options: DeleteOptions) -> None:
    """The preconditions hold, or a conflict on the kind."""
    wanted, metadata = options.preconditions, obj["metadata"]
    if wanted is None:
        return
    if wanted.uid is not None and wanted.uid != metadata.get("uid"):
        detail = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record "
            f"({metadata.get('uid')}). The object might have been deleted and then recreated"
        )
        raise status.conflict(kind.kind, kind.group, metadata["name"], detail)
    if wanted.resource_version is not None and wanted.resource_version != metadata["resourceVersion"]:
        detail = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise status.conflict(kind.kind, kind.group, metadata["name"], detail)


def _grace(backend: Backend, pod: Object, options: DeleteOptions) -> str:
    """Mark a pod for graceful deletion: ``marked``, ``pending`` (nothing to do), or empty: remove it now."""
    metadata, asked = pod["metadata"], options.grace_period_seconds
    if asked is not None and asked < 0:
        asked = 1
    if "deletionTimestamp" in metadata:
        return _shorten(backend, metadata, asked)
    period = deletion_grace(pod, asked)
    metadata["deletionTimestamp"] = backend.timestamp(period)
    metadata["deletionGracePeriodSeconds"] = period
    if metadata.get("generation"):
        metadata["generation"] += 1
    return "marked"


def _shorten(backend: Backend, metadata: Object, asked: int | None) -> str:
    """A second deletion may only bring the end nearer."""
    present = metadata.get("deletionGracePeriodSeconds")
    if not present:
        return ""
    if asked is None or asked >= present:
        return "pending"
    end = _seconds(metadata["deletionTimestamp"]) - present + asked
    now = int(backend.clock())
    if end < now:
        end, asked = now, 1 if asked else 0
    metadata["deletionTimestamp"] = rfc3339(end)
    metadata["deletionGracePeriodSeconds"] = asked
    return "marked"


def _mark_deleting(backend: Backend, metadata: Object) -> None:
    if "deletionTimestamp" not in metadata:
        if metadata.get("generation"):
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = backend.timestamp()
    metadata["deletionGracePeriodSeconds"] = 0


def _start_termination(backend: Backend, namespace: Object) -> bool:
    """A namespace is emptied before it goes; only the first deletion changes it."""
    if "deletionTimestamp" in namespace["metadata"]:
        return False
    namespace["metadata"]["deletionTimestamp"] = backend.timestamp()
    namespace.setdefault("status", {})["phase"] = "Terminating"
    return True


def _seconds(timestamp: str) -> int:
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))
