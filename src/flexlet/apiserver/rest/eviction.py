"""Eviction: deleting a pod, if its disruption budget allows it.

A pod that does not run, has ended or is on its way out is nobody's loss and goes without asking. Otherwise the one
budget that selects it is decremented by compare-and-swap before the pod is deleted, so two evictions cannot
both use the last allowance. Follows ``pkg/registry/core/pod/storage/eviction.go``.
"""

from typing import Final

import msgspec

from flexlet.api import selectors, status
from flexlet.api.selectors import SelectorFault
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.contract.request import WriteOptions
from flexlet.apiserver.rest import delete, deleteoptions, finished, writes
from flexlet.apiserver.rest.backend import Backend, admission_request
from flexlet.apiserver.rest.call import Answer, Call, metadata_of, not_found, status_answer
from flexlet.apiserver.rest.conditions import set_condition
from flexlet.apiserver.rest.deleteoptions import DeleteOptions
from flexlet.apiserver.rest.handlers import Handled
from flexlet.apiserver.store.errors import RevisionMismatch

BUDGETS: Final = "policy/poddisruptionbudgets"
HARMLESS: Final = ("Pending", "Succeeded", "Failed")
BLOCKED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
TOO_MANY: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
RETRY_S: Final = 10
MAX_DISRUPTED: Final = 2000


class Evictions:
    """Serves ``pods/NAME/eviction``."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def handle(self, request: Handled) -> Answer:
        """Delete the pod, or say why not."""
        eviction, call = request.body or {}, request.call
        admission = admission_request(call, "CREATE", eviction)
        self._backend.mutate(admission)
        if metadata_of(eviction).get("name") != call.name:
            raise status.bad_request("name in URL does not match name in Eviction object")
        options = deleteoptions.check(deleteoptions.from_body(eviction.get("deleteOptions") or {}))
        dry_run = call.options.dry_run or bool(options.dry_run)
        await self._backend.validate(admission)
        pod_call = Call(
            user=call.user,
            kind=call.kind,
            namespace=call.namespace,
            name=call.name,
            options=WriteOptions(dry_run=dry_run),
            warnings=call.warnings,
        )
        await self._evict(pod_call, options)
        return status_answer(status.success(code=201), 201)

    async def _evict(self, call: Call, options: DeleteOptions) -> None:
        row = self._backend.store.head(call.bucket, call.key)
        if row is None:
            raise not_found(call)
        pod = finished.decode(call.kind, row.value)
        delete.require(call.kind, pod, options)
        if not _harmless(pod):
            await self._allowed(call, pod)
        if not call.options.dry_run:
            await self._mark(call, options)
        await delete.delete(self._backend, call, _unversioned(options))

    async def _mark(self, call: Call, options: DeleteOptions) -> None:
        """Say on the pod that it is being evicted."""
        while True:
            row = self._backend.store.head(call.bucket, call.key)
            if row is None:
                raise not_found(call)
            pod, old = finished.decode(call.kind, row.value), finished.decode(call.kind, row.value)
            delete.require(call.kind, pod, options)
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
            set_condition(pod.setdefault("status", {}), condition, self._backend.timestamp())
            try:
                await writes.replace(self._backend, call, row, pod, old)
            except RevisionMismatch:
                continue
            return

    async def _allowed(self, call: Call, pod: Object) -> None:
        """Use up one allowed disruption of the pod's budget, if it has one."""
        names = [budget["metadata"]["name"] for budget in self._budgets(pod)]
        if len(names) > 1:
            raise status.failure(500, message=TOO_MANY)
        kind = self._backend.registry.lookup("policy", "v1", "poddisruptionbudgets")
        if names and kind is not None:
            await self._charge(call, kind, names[0], pod)

    async def _charge(self, call: Call, kind: Kind, name: str, pod: Object) -> None:
        budget_call = Call(user=call.user, kind=kind, namespace=call.namespace, name=name, options=call.options)
        while True:
            row = self._backend.store.head(budget_call.bucket, budget_call.key)
            if row is None:
                return
            old = finished.decode(kind, row.value)
            if _spares(old, pod):
                return
            budget = _charged(finished.copy(old), call.name, self._backend.timestamp())
            try:
                await writes.replace(self._backend, budget_call, row, budget, old)
            except RevisionMismatch:
                continue
            return

    def _budgets(self, pod: Object) -> list[Object]:
        labels = pod["metadata"].get("labels", {})
        found = []
        for budget in self._backend.view.list(BUDGETS, pod["metadata"]["namespace"]):
            try:
                selector = selectors.from_object(budget.get("spec", {}).get("selector"))
            except SelectorFault:
                continue
            if selector.matches(labels):
                found.append(budget)
        return found


def _harmless(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") in HARMLESS


def _spares(budget: Object, pod: Object) -> bool:
    """Whether an unhealthy pod may go without being counted."""
    conditions = pod.get("status", {}).get("conditions", [])
    if any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions):
        return False
    if budget.get("spec", {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    state = budget.get("status", {})
    return bool(state.get("currentHealthy", 0) >= state.get("desiredHealthy", 0) > 0)


def _charged(budget: Object, pod_name: str, now: str) -> Object:
    """The budget with one disruption less, or the refusal."""
    name, state = budget["metadata"]["name"], budget.setdefault("status", {})
    if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        cause = f"The disruption budget {name} is still being processed by the server."
        raise _refused(cause, RETRY_S)
    if state.get("disruptionsAllowed", 0) <= 0:
        raise _refused(_why(name, state))
    if len(state.get("disruptedPods", {})) > MAX_DISRUPTED:
        raise _refused(f"The disruption budget {name} does not allow evicting pods currently")
    state["disruptionsAllowed"] -= 1
    state["disruptedPods"] = {**state.get("disruptedPods", {}), pod_name: now}
    return budget


def _why(name: str, state: Object) -> str:
    desired, healthy = state.get("desiredHealthy", 0), state.get("currentHealthy", 0)
    condition: Object = next((c for c in state.get("conditions", []) if c.get("type") == "DisruptionAllowed"), {})
    refused = condition.get("status") == "False" and condition.get("message")
    if refused and condition.get("reason") == "SyncFailed":
        text = "does not allow evicting pods currently because it failed sync"
        return f"The disruption budget {name} {text}: {condition['message']}"
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    if refused:
        text = f"does not allow evicting pods currently ({condition.get('reason', '')})"
        return f"The disruption budget {name} {text}: {condition['message']}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _refused(cause: str, retry_after: int = 0) -> status.ApiError:
    causes = (status.StatusCause(reason="DisruptionBudget", message=cause),)
    details = status.StatusDetails(causes=causes, retry_after_seconds=retry_after)
    return status.failure(429, "TooManyRequests", BLOCKED, details)


def _unversioned(options: DeleteOptions) -> DeleteOptions:
    """We changed the pod ourselves, so its version is no longer the one asked for; its uid still is."""
    if options.preconditions is None:
        return options
    kept = msgspec.structs.replace(options.preconditions, resource_version=None)
    return msgspec.structs.replace(options, preconditions=kept)
