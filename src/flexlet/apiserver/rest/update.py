"""Update: everything that replaces a stored object, whether the client sent it whole or as a patch.

`change` builds the new object from the stored one and tries again when somebody else was quicker, unless the
client named the version it started from. A write that changes nothing is not stored, and an update that removes
the last finalizer of an object being deleted completes the deletion.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from flexlet.api import fielderrors, status
from flexlet.apiserver.contract.kind import Object, UpdateStrategy
from flexlet.apiserver.kinds import metadata as common
from flexlet.apiserver.rest import finished, naming, writes
from flexlet.apiserver.rest.aside import aside
from flexlet.apiserver.rest.backend import Backend, admission_request
from flexlet.apiserver.rest.call import Answer, Call, metadata_of, not_found
from flexlet.apiserver.rest.create import create
from flexlet.apiserver.store.errors import RevisionMismatch
from flexlet.apiserver.store.rows import Row
from flexlet.errors import InvariantBroken

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"

Build: TypeAlias = Callable[[Object], Object]
"""Makes the wanted object from the stored one, which it must not change."""


async def update(backend: Backend, call: Call, body: Object) -> Answer:
    """PUT: the body becomes the object."""
    naming.require_name(call, body)
    if backend.store.head(call.bucket, call.key) is None:
        return await _create_instead(backend, call, body)
    return await change(backend, call, lambda old: same_object(call, finished.copy(body), old))


async def change(backend: Backend, call: Call, build: Build, rules: UpdateStrategy | None = None) -> Answer:
    """Store what `build` makes of the present object; tried again when it changed meanwhile.

    The rules are those of the call's path unless others are given.
    """
    rules = rules or _rules(call)
    while True:
        row = backend.store.head(call.bucket, call.key)
        if row is None:
            raise not_found(call)
        try:
            return await _change_once(backend, call, row, build, rules)
        except RevisionMismatch:
            continue


async def _create_instead(backend: Backend, call: Call, body: Object) -> Answer:
    if not call.kind.create_on_update or call.subresource:
        raise not_found(call)
    uid = metadata_of(body).get("uid")
    if uid:
        raise _uid_conflict(call, uid, "")
    metadata_of(body).pop("resourceVersion", None)
    return await create(backend, call, body)


async def _change_once(backend: Backend, call: Call, row: Row, build: Build, rules: UpdateStrategy) -> Answer:
    size = call.size + len(row.value)
    old, obj = await aside(size, lambda: _built(call, row, build))
    request = admission_request(call, "UPDATE", obj, old)
    backend.mutate(request)
    _require_version(call, obj, row)
    call.warnings.extend(await aside(size, lambda: _judge(backend, call, rules, obj, old)))
    await backend.validate(request)
    return await _store(backend, call, row, obj, old)


def _built(call: Call, row: Row, build: Build) -> tuple[Object, Object]:
    """The stored object, and what is to become of it, with its defaults."""
    old = finished.decode(call.kind, row.value)
    obj = build(old)
    naming.require_name(call, obj)
    naming.place(call, obj)
    obj["metadata"].pop("managedFields", None)  # nobody keeps them here
    call.kind.strategy.default(obj)
    return old, obj


def _judge(backend: Backend, call: Call, rules: UpdateStrategy, obj: Object, old: Object) -> list[str]:
    """Warnings about a change, or the 422; depends on the two objects alone."""
    _carry_over(rules, obj, old)
    errors = common.validate_common_update(obj, old, namespaced=call.kind.namespaced)
    errors += rules.validate_update(obj, old)
    if errors:
        raise backend.invalid(call.kind, obj, call.name, errors)
    return rules.warnings_on_update(obj, old)


def _rules(call: Call) -> UpdateStrategy:
    if not call.subresource:
        return call.kind.strategy
    found = call.kind.subresource(call.subresource)
    if found is None or found.update is None:
        raise InvariantBroken(f"{call.kind.plural}/{call.subresource} is not an update path")
    return found.update


def same_object(call: Call, obj: Object, old: Object) -> Object:
    """A uid that a client sends with a whole object must be the stored one's."""
    uid, stored = metadata_of(obj).get("uid"), old["metadata"].get("uid", "")
    if uid and uid != stored:
        raise _uid_conflict(call, uid, stored)
    return obj


def _require_version(call: Call, obj: Object, row: Row) -> None:
    """The client's resourceVersion must be that of the stored object, if it sent one."""
    metadata = obj["metadata"]
    revision = naming.given_revision(metadata)
    if revision and revision != row.revision:
        raise status.conflict(call.kind.plural, call.kind.group, call.name, MODIFIED)
    if not revision and not call.kind.unconditional_update:
        error = fielderrors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise status.invalid(call.kind.plural, call.kind.group, call.name, [error])
    metadata["resourceVersion"] = str(row.revision)


def _uid_conflict(call: Call, wanted: str, found: str) -> status.ApiError:
    place = call.bucket if call.kind.custom else call.kind.plural
    detail = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}/{call.key}, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {wanted}, UID in object meta: {found}"
    )
    return status.conflict(call.kind.plural, call.kind.group, call.name, detail)


def _carry_over(rules: UpdateStrategy, obj: Object, old: Object) -> None:
    """Keep what no update may change; the kind decides about the generation."""
    metadata, before = obj["metadata"], old["metadata"]
    metadata.pop("generation", None)
    if "generation" in before:
        metadata["generation"] = before["generation"]
    rules.prepare_update(obj, old)
    metadata = obj["metadata"]
    metadata.pop("selfLink", None)
    for field in ("creationTimestamp", "deletionTimestamp"):
        if field in before:
            metadata[field] = before[field]
    for field in ("uid", "deletionGracePeriodSeconds"):
        if field in before:
            metadata.setdefault(field, before[field])


async def _store(backend: Backend, call: Call, row: Row, obj: Object, old: Object) -> Answer:
    if not _completes_deletion(call, obj, old):
        return await writes.replace(backend, call, row, obj, old)
    await writes.remove(backend, call, row, old)
    answer = finished.encode(call.kind, obj, row.revision)
    return Answer(finished.shown(call.kind, answer), 200, call.kind)


def _completes_deletion(call: Call, obj: Object, old: Object) -> bool:
    before = old["metadata"]
    if obj["metadata"].get("finalizers") or not before.get("deletionTimestamp"):
        return False
    if call.bucket == "namespaces" and obj.get("spec", {}).get("finalizers"):
        return False
    return not before.get("deletionGracePeriodSeconds")
