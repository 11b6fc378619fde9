"""ResourceQuota: a namespace may not hold more than its quotas say.

Last in the chain, because it is the only plugin that writes: what it lets through is charged at once.
"""

from collections.abc import Mapping
from typing import Final

from flexlet.api.decode import from_value
from flexlet.api.pod import Pod
from flexlet.api.status import qualified
from flexlet.apiserver.admission.quota_ledger import BUCKET, Entry, QuotaLedger, QuotaWriter
from flexlet.apiserver.admission.refusal import CREATE, UPDATE, forbidden, is_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.core.quota.claim import Claim, Counting, count_claim, pod_claim, service_claim
from flexlet.ports.clock import Clock

UNCOUNTED: Final = frozenset({"events", "bindings"})


class ResourceQuota(Plugin):
    """Charges creations, resizes, and updates that move a pod or a Service from one quota to another."""

    name = "ResourceQuota"

    def __init__(self, gates: Mapping[str, bool], writer: QuotaWriter, clock: Clock) -> None:
        self._ledger = QuotaLedger(writer)
        self._clock = clock
        self._counting = counting_of(gates)

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse what does not fit; a dry run is checked but not charged."""
        if not is_charged(request) or next(iter(view.list(BUCKET, request.namespace)), None) is None:
            return
        entry = Entry(
            claim=self._claim(request, request.obj or {}),
            old=self._claim(request, request.old) if request.operation == UPDATE and request.old else None,
            dry_run=request.dry_run,
        )
        refusal = await self._ledger.charge(request.namespace, entry, view)
        if refusal is not None:
            raise forbidden(request, refusal.message)

    def _claim(self, request: AdmissionRequest, obj: Object) -> Claim:
        resource = qualified(request.kind.plural, request.kind.group)
        if resource == "pods":
            return pod_claim(from_value(obj, Pod), self._clock.now(), self._counting)
        if resource == "services":
            return service_claim(obj.get("spec") or {})
        return count_claim(resource)


def counting_of(gates: Mapping[str, bool]) -> Counting:
    """Which features take part in counting."""
    return Counting(
        pod_level=gates.get("PodLevelResources", True),
        in_place_resize=gates.get("InPlacePodVerticalScaling", True),
    )


def is_charged(request: AdmissionRequest) -> bool:
    """Whether the request could change what a namespace uses."""
    kind = request.kind
    if not kind.namespaced or not kind.stored or kind.plural in UNCOUNTED or not request.namespace:
        return False
    if is_pod(request) and request.operation == UPDATE:
        return request.subresource == "resize" or (not request.subresource and _changes_deadline(request))
    if request.subresource:
        return False
    is_service = kind.plural == "services" and not kind.group
    return request.operation == CREATE or (is_service and request.operation == UPDATE)


def _changes_deadline(request: AdmissionRequest) -> bool:
    """A deadline moves a pod from scope NotTerminating to Terminating."""
    deadlines = (
        ((obj or {}).get("spec") or {}).get("activeDeadlineSeconds") for obj in (request.old, request.obj)
    )
    before, after = (deadline is not None for deadline in deadlines)
    return before != after
