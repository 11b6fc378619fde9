"""Create: default, mutating admission, name, prepare, validate, validating admission, store."""

from typing import Final

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind, Object, object_key
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.apiserver.kinds import metadata as common
from flexlet.apiserver.rest import finished, naming
from flexlet.apiserver.rest.aside import aside
from flexlet.apiserver.rest.backend import Backend, admission_request
from flexlet.apiserver.rest.call import Answer, Call, metadata_of
from flexlet.apiserver.store.errors import KeyExists

TERMINATING: Final = "create not allowed while custom resource definition is terminating"


async def create(backend: Backend, call: Call, obj: Object) -> Answer:
    """Store a new object; a generated name that is taken is generated again."""
    naming.place(call, obj)
    metadata = metadata_of(obj)
    naming.wipe(metadata)
    await aside(call.size, lambda: call.kind.strategy.default(obj))
    request = admission_request(call.named(metadata.get("name") or ""), "CREATE", obj)
    _require_served(backend, call, request.name)
    backend.mutate(request)
    if request.name or not metadata.get("generateName"):
        return await _create_named(backend, call, request, obj)
    for attempt in range(naming.GENERATE_ATTEMPTS):
        try:
            return await _create_named(backend, call, request, finished.copy(obj))
        except status.AlreadyExists:
            if attempt == naming.GENERATE_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


async def _create_named(backend: Backend, call: Call, request: AdmissionRequest, obj: Object) -> Answer:
    kind, metadata = call.kind, obj["metadata"]
    request.obj = obj
    naming.stamp(metadata, backend.timestamp())
    name = metadata.get("name") or ""
    call.warnings.extend(await aside(call.size, lambda: _judge(backend, kind, obj)))
    _require_served(backend, call, name)
    await backend.validate(request)
    if naming.given_revision(metadata) and not call.options.dry_run:
        raise status.failure(500, message="resourceVersion should not be set on objects to be created")
    return await _store(backend, call.named(name), obj)


def _require_served(backend: Backend, call: Call, name: str) -> None:
    """Nothing new of a definition that goes; it may have begun to while the object was looked at."""
    kind = call.kind
    served = backend.registry.lookup(kind.group, kind.version, kind.plural) if kind.custom else kind
    if kind.terminating or served is None or served.terminating:
        raise status.forbidden(kind.plural, kind.group, name, TERMINATING)


def _judge(backend: Backend, kind: Kind, obj: Object) -> list[str]:
    """Warnings about a new object, or the 422; depends on the object alone."""
    kind.strategy.prepare_create(obj)
    errors = kind.strategy.validate(obj) or common.validate_common(obj, namespaced=kind.namespaced)
    if errors:
        raise backend.invalid(kind, obj, obj["metadata"].get("name") or "", errors)
    return kind.strategy.warnings(obj)


async def _store(backend: Backend, call: Call, obj: Object) -> Answer:
    kind, key = call.kind, object_key(call.namespace, call.name)
    if call.options.dry_run:
        if backend.store.head(call.bucket, key) is not None:
            raise status.already_exists(kind.plural, kind.group, call.name)
        return Answer(finished.shown(kind, finished.encode(kind, obj, None)), 201, kind)
    try:
        row = await backend.store.create(call.bucket, key, lambda revision: finished.storable(kind, obj, revision))
    except KeyExists:
        raise status.already_exists(kind.plural, kind.group, call.name) from None
    created = backend.created.get(call.bucket)
    if created is not None:
        await created(obj)
    return Answer(finished.shown(kind, row.value), 201, kind)
