"""Patch: the stored object, changed as the patch says, goes the way of an update.

Only what is special to patches is here: their three types, and the words for results that are no object of the
kind. Without a resourceVersion in it a patch is applied again when the object changed meanwhile.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.api import fielderrors, gotext, schema, status
from flexlet.api.patch import json_patch, merge, strategic
from flexlet.api.patch.errors import PatchFailed, PatchFault
from flexlet.api.schema import Decoded, Type, Unreadable
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.rest import finished, typed
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Answer, Call
from flexlet.apiserver.rest.update import change

JSON: Final = "json"
MERGE: Final = "merge"
STRATEGIC: Final = "strategic"
READERS: Final = {JSON: json_patch.read, MERGE: merge.read, STRATEGIC: strategic.read}
REJECTED: Final = "the server rejected our request due to an error in our request"


class Patch(msgspec.Struct, frozen=True):
    """A patch of one of the three types, and what strict reading said about its document."""

    type: str
    document: Any
    complaints: tuple[str, ...] = ()


def read(patch_type: str, body: bytes, *, checked: bool) -> Patch:
    """Read a patch body, or fail as upstream does."""
    try:
        document = READERS[patch_type](body, checked=checked)
    except PatchFault as fault:
        raise failure(fault) from None
    return Patch(patch_type, document.value, document.complaints)


async def patch(backend: Backend, call: Call, wanted: Patch) -> Answer:
    """Change an object as the patch says."""
    warned: list[str] = []
    try:
        return await change(backend, call, lambda old: _build(call, wanted, old, warned))
    finally:
        call.warnings.extend(dict.fromkeys(warned))


def _build(call: Call, wanted: Patch, old: Object, warned: list[str]) -> Object:
    of = typed.type_of(call.kind)
    checked = call.options.field_validation != typed.IGNORE
    result = apply(wanted, finished.copy(old), of)
    decoded = _custom(call, result, checked) if call.kind.custom else decode(result, of, checked=checked)
    complaints = (*wanted.complaints, *decoded.complaints)
    if complaints and call.options.field_validation == typed.STRICT:
        raise _invalid(result.shown(), typed.strict_error(complaints))
    warned.extend(complaints)
    obj: Object = decoded.value
    return obj


class Result(msgspec.Struct, frozen=True):
    """A patched object, not yet looked at; `shown` gives the text error messages quote."""

    value: Any
    shown: Callable[[], str]
    convert: bool = False


def apply(wanted: Patch, original: Object, of: Type | None) -> Result:
    """Apply a patch to an object, which is used up; a patch that does not apply is an error."""
    document = wanted.document
    try:
        if wanted.type == STRATEGIC and of is not None:
            merged = strategic.apply(of, original, document)
            return Result(merged.value, lambda: gotext.sprint(merged.patch), convert=True)
        if wanted.type == JSON:
            changed = json_patch.apply(original, document)
            return Result(changed, lambda: json_patch.text(original, document))
        return Result(merge.apply(original, document), lambda: merge.text(original, document))
    except PatchFault as fault:
        raise failure(fault) from None


def decode(result: Result, of: Type | None, *, checked: bool) -> Decoded:
    """The patched object as one of its type, or the 422 on ``patch``."""
    if of is None:
        return Decoded(result.value)
    try:
        if result.convert:
            return schema.convert(of, result.value, checked=checked)
        schema.require_kind(schema.interpret(result.value), schema.kind_of(of), result.value)
        return schema.read_value(of, result.value, checked=checked)
    except Unreadable as fault:
        raise _invalid(result.shown(), fault.message) from None


def _custom(call: Call, result: Result, checked: bool) -> Decoded:
    """The patched custom resource, shaped by its own schema."""
    value = result.value
    try:
        if not schema.interpret(value).kind:
            raise Unreadable(f"Object 'Kind' is missing in '{result.shown()}'")
        complaints = call.kind.strategy.read(value, checked=checked)
    except Unreadable as fault:
        raise _invalid(result.shown(), fault.message) from None
    if not value.get("apiVersion"):
        raise status.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    return Decoded(value, tuple(complaints))


def failure(fault: PatchFault) -> status.ApiError:
    """The Status of a patch that cannot be read or applied."""
    if isinstance(fault, PatchFailed):
        return status.failure(422, "Invalid", REJECTED, status.StatusDetails())
    if fault.code == 400:
        return status.bad_request(fault.message)
    if fault.code == 413:
        return status.failure(413, "RequestEntityTooLarge", f"Request entity too large: {fault.message}")
    return status.failure(fault.code, message=fault.message)


def _invalid(shown: str, detail: str) -> status.ApiError:
    return status.invalid("", "", "", [fielderrors.invalid("patch", shown, detail)])
