"""The scale face of custom resources: where their definition says the numbers are.

Values are read as ``unstructured.NestedInt64`` reads them: a float is no integer, however whole.
"""

from typing import Any, Final

import msgspec

from flexlet.api import gotext, schema, status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.findings import invalid
from flexlet.apiserver.rest import finished, naming, patching
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Answer, not_found
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.update import change, same_object
from flexlet.errors import InputError

MAX_REPLICAS: Final = 2**31 - 1
UNSET: Final = -(2**31)
_IDENTITY: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_GO_TYPES: Final = {dict: "map[string]interface{}", int: "int64", str: "string"}


class ScalePaths(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The paths a definition gives."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""

    def check_spec(self, obj: Object) -> list[FieldError]:
        """What is wrong with the wanted number."""
        return _check_count(obj, self.spec_replicas_path)

    def check_status(self, obj: Object) -> list[FieldError]:
        """What is wrong with the reported number and the selector."""
        errors = _check_count(obj, self.status_replicas_path)
        if self.label_selector_path:
            try:
                nested(obj, self.label_selector_path, str)
            except InputError as fault:
                errors.append(invalid(self.label_selector_path, "", fault.message))
        return errors

    def to_scale(self, obj: Object, missing: int = 0) -> Object:
        """The Scale of an object; `missing` stands for a number that is not there."""
        identity = obj["metadata"]
        wanted = nested(obj, self.spec_replicas_path, int)
        selector = nested(obj, self.label_selector_path, str) if self.label_selector_path else None
        reported = {"replicas": nested(obj, self.status_replicas_path, int) or 0}
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {key: identity[key] for key in _IDENTITY if key in identity},
            "spec": {"replicas": missing if wanted is None else wanted},
            "status": {**reported, "selector": selector} if selector else reported,
        }

    def scaled(self, obj: Object, scale: Object) -> Object:
        """A copy of the object with the wanted number, and the version that the client has seen, if it says so."""
        result = finished.copy(obj)
        *parents, last = steps(self.spec_replicas_path)
        place = result
        for step in parents:
            place = place.setdefault(step, {})
        place[last] = scale.get("spec", {}).get("replicas", 0)
        version = scale["metadata"].get("resourceVersion")
        if version:
            result["metadata"]["resourceVersion"] = version
        return result


def _check_count(obj: Object, path: str) -> list[FieldError]:
    try:
        found = nested(obj, path, int) or 0
    except InputError as fault:
        return [invalid(path, 0, fault.message)]
    if found < 0:
        return [invalid(path, found, "should be a non-negative integer")]
    if found > MAX_REPLICAS:
        return [invalid(path, found, f"should be less than or equal to {MAX_REPLICAS}")]
    return []


def steps(path: str) -> list[str]:
    """The names of a dotted path."""
    return path.removeprefix(".").split(".")


def nested(obj: Object, path: str, wanted: type) -> Any:
    """The value at a dotted path, None if it is not there; InputError if something on the way is of wrong type."""
    value: Any = obj
    names = steps(path)
    for depth, name in enumerate(names):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _accessor_error(names[: depth + 1], value, dict)
        if name not in value:
            return None
        value = value[name]
    if type(value) is not wanted:
        raise _accessor_error(names, value, wanted)
    return value


def _accessor_error(names: list[str], value: Any, wanted: type) -> InputError:
    shown = f"{gotext.sprint(value)} is of the type {gotext.type_name(value)}"
    return InputError(f".{'.'.join(names)} accessor error: {shown}, expected {_GO_TYPES[wanted]}")


class CustomScales:
    """Serves ``/scale`` of all custom resources that have one."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def handle(self, request: Handled) -> Answer:
        """Read, replace or patch the scale."""
        call, paths = request.call, paths_of(request)
        if request.verb == "get":
            row = self._backend.store.get(call.bucket, call.key)
            if row is None:
                raise not_found(call)
            return _answer(_readable(paths, finished.decode(call.kind, row.value)))
        rules = call.kind.strategy
        answer = await change(self._backend, call, lambda old: _rescaled(request, paths, old), rules=rules)
        return _answer(_scale(paths, msgspec.json.decode(answer.value), 0))


def paths_of(request: Handled) -> ScalePaths:
    """The paths of the version that was asked."""
    paths: ScalePaths = getattr(request.call.kind.strategy, "scale")  # noqa: B009  a custom kind's strategy
    return paths


def _scale(paths: ScalePaths, obj: Object, missing: int = UNSET) -> Object:
    try:
        return paths.to_scale(obj, missing)
    except InputError as fault:
        raise status.failure(500, message=fault.message) from None


def _readable(paths: ScalePaths, obj: Object) -> Object:
    scale = _scale(paths, obj)
    if scale["spec"]["replicas"] == UNSET:
        raise status.internal(f'the spec replicas field "{paths.spec_replicas_path}" does not exist')
    return scale


def _rescaled(request: Handled, paths: ScalePaths, old: Object) -> Object:
    scale = request.body
    if request.patch is not None:
        of = schema.type_for("autoscaling", "v1", "Scale")
        patched = patching.apply(request.patch, _scale(paths, old), of)
        scale = patching.decode(patched, of, checked=False).value
    scale = scale or {}
    naming.require_name(request.call, scale)
    same_object(request.call, scale, old)
    if scale.get("spec", {}).get("replicas", 0) == UNSET:
        raise status.bad_request(f'the spec replicas field "{paths.spec_replicas_path}" cannot be empty')
    return paths.scaled(old, scale)


def _answer(scale: Object) -> Answer:
    return Answer(msgspec.json.encode(scale))
