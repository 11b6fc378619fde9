"""Binding: a pod gets its node. Not an update: the pod's own rules forbid to set a node later."""

from typing import Final

from flexlet.api import fielderrors, names, status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.rest import finished, writes
from flexlet.apiserver.rest.backend import Backend, admission_request
from flexlet.apiserver.rest.call import Answer, Call, metadata_of, not_found, status_answer
from flexlet.apiserver.rest.conditions import set_condition
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.rest.update import MODIFIED
from flexlet.apiserver.store.errors import RevisionMismatch
from flexlet.apiserver.store.rows import Row

PODS: Final = "pods"


class Bindings:
    """Serves ``pods/NAME/binding`` and the older ``bindings`` collection."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def handle(self, request: Handled) -> Answer:
        """Bind the pod that the URL, or the older body, names."""
        binding, call = request.body or {}, request.call
        admission = admission_request(call, "CREATE", binding)
        self._backend.mutate(admission)
        if not call.subresource:
            call = call.named(metadata_of(binding).get("name", ""))
        elif metadata_of(binding).get("name") != call.name:
            raise status.bad_request("name in URL does not match name in Binding object")
        errors = _errors(binding)
        if errors:
            # Upstream forgets to say that the request is at fault; clients see a 500.
            texts = [str(error) for error in errors]
            raise status.failure(500, message=texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
        await self._backend.validate(admission)
        await self._assign(self._pod_call(call), binding)
        return status_answer(status.success(code=201), 201)

    def _pod_call(self, call: Call) -> Call:
        pods = self._backend.registry.lookup("", "v1", PODS)
        return Call(
            user=call.user,
            kind=pods if isinstance(pods, Kind) else call.kind,
            namespace=call.namespace,
            name=call.name,
            options=call.options,
        )

    async def _assign(self, call: Call, binding: Object) -> None:
        while True:
            row = self._backend.store.head(PODS, call.key)
            if row is None:
                raise not_found(call)
            pod = finished.decode(call.kind, row.value)
            _require(call, binding, pod, row)
            old = finished.copy(pod)
            _bind(pod, binding, self._backend.timestamp())
            try:
                await writes.replace(self._backend, call, row, pod, old)
            except RevisionMismatch:
                continue
            return


def _errors(binding: Object) -> list[FieldError]:
    target = binding.get("target") or {}
    kind, name = target.get("kind", ""), target.get("name", "")
    found: list[FieldError] = []
    if kind not in {"", "Node"}:
        found.append(fielderrors.not_supported("target.kind", kind, ("Node", "<empty>")))
    if not name:
        found.append(fielderrors.required("target.name"))
    elif not found:
        found += [fielderrors.invalid("target.name", name, text) for text in names.dns1123_subdomain(name)]
    return found


def _require(call: Call, binding: Object, pod: Object, row: Row) -> None:
    """The pod can still be bound, and is the one the binding means."""
    wanted, found = metadata_of(binding), pod["metadata"]
    uid, version = wanted.get("uid"), wanted.get("resourceVersion")
    if (uid and uid != found.get("uid")) or (version and version != str(row.revision)):
        raise status.conflict(PODS, "", call.name, MODIFIED)
    spec = pod.get("spec", {})
    refusal = ""
    if "deletionTimestamp" in found:
        refusal = f"pod {call.name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        refusal = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        refusal = f"pod {call.name} has non-empty .spec.schedulingGates"
    if refusal:
        raise status.conflict("pods/binding", "", call.name, refusal)


def _bind(pod: Object, binding: Object, now: str) -> None:
    pod.setdefault("spec", {})["nodeName"] = binding["target"]["name"]
    state = pod.setdefault("status", {})
    state.pop("nominatedNodeName", None)
    for field in ("annotations", "labels"):
        added = metadata_of(binding).get(field)
        if added:
            pod["metadata"][field] = {**pod["metadata"].get(field, {}), **added}
    set_condition(state, {"type": "PodScheduled", "status": "True"}, now)
