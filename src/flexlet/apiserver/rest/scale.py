"""Scale: an object's replicas as an ``autoscaling/v1 Scale``, read and written for any kind that has some."""

from collections.abc import Callable

import msgspec

from flexlet.api import schema, status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import scale as workloads
from flexlet.apiserver.rest import finished, naming, patching
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Answer, Call, metadata_of, not_found
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.update import change


class ScaleForm(msgspec.Struct, frozen=True):
    """How a kind's objects become Scales, and how a Scale's wish goes back into one."""

    to_scale: Callable[[Object], Object] = workloads.to_scale
    scaled: Callable[[Object, Object], Object] = workloads.scaled
    validate: Callable[[Object], list[FieldError]] = workloads.validate_scale


WORKLOADS = ScaleForm()


class Scales:
    """Serves ``/scale`` of kinds with the same form."""

    def __init__(self, backend: Backend, form: ScaleForm = WORKLOADS) -> None:
        self._backend = backend
        self._form = form

    async def handle(self, request: Handled) -> Answer:
        """Read, replace or patch the scale."""
        call = request.call
        if request.verb == "get":
            row = self._backend.store.get(call.bucket, call.key)
            if row is None:
                raise not_found(call)
            return self._answer(finished.decode(call.kind, row.value))
        answer = await change(
            self._backend, call, lambda old: self._scaled(request, old), rules=call.kind.strategy
        )
        return self._answer(msgspec.json.decode(answer.value))

    def _scaled(self, request: Handled, old: Object) -> Object:
        scale = request.body or {}
        if request.patch is not None:
            of = schema.type_for("autoscaling", "v1", "Scale")
            patched = patching.apply(request.patch, self._form.to_scale(old), of)
            scale = patching.decode(patched, of, checked=False).value
        naming.require_name(request.call, scale)
        naming.place(request.call, scale)
        errors = self._form.validate(scale)
        if errors:
            raise status.invalid("Scale", "autoscaling", request.call.name, errors)
        _require_uid(request.call, scale, old)
        return self._form.scaled(old, scale)

    def _answer(self, obj: Object) -> Answer:
        return Answer(msgspec.json.encode(self._form.to_scale(obj)))


def _require_uid(call: Call, scale: Object, old: Object) -> None:
    uid, stored = metadata_of(scale).get("uid"), old["metadata"].get("uid")
    if uid and uid != stored:
        detail = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
        raise status.conflict(f"{call.kind.plural}/scale", call.kind.group, call.name, detail)
