"""LimitRanger: defaults and bounds for the requests and limits of pods, on create and on resize."""

from collections.abc import Mapping
from typing import Final

from flexlet.api.decode import from_value
from flexlet.api.limitrange import LimitRange
from flexlet.api.pod import Pod
from flexlet.apiserver.admission.refusal import CREATE, UPDATE, forbidden, is_pod, joined
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.core.limits.bounds import violations
from flexlet.core.limits.defaults import container_defaults, fill

ANNOTATION: Final = "kubernetes.io/limit-ranger"
BUCKET: Final = "limitranges"


class LimitRanger(Plugin):
    """Looks at the spec only: what a container really uses is the quota's and the node's business."""

    name = "LimitRanger"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._pod_level = gates.get("PodLevelResources", True)

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Fill in what containers leave out; a new pod is told so by an annotation."""
        pod = _limited_pod(request)
        if pod is None:
            return
        for limit_range in view.list(BUCKET, request.namespace):
            note = fill(pod.setdefault("spec", {}), *container_defaults(limit_range))
            # A resize changes resources and nothing else, so it leaves no note.
            if note and not request.subresource:
                pod.setdefault("metadata", {}).setdefault("annotations", {})[ANNOTATION] = note

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse what lies outside a range; the first range that objects is named."""
        if _limited_pod(request) is None:
            return
        for limit_range in view.list(BUCKET, request.namespace):
            pod = from_value(request.obj, Pod)
            found = violations(from_value(limit_range, LimitRange), pod, pod_level=self._pod_level)
            if found:
                raise forbidden(request, joined(found))


def _limited_pod(request: AdmissionRequest) -> Object | None:
    """The pod whose resources are about to be set; plain updates cannot touch them."""
    if not is_pod(request):
        return None
    if request.operation == CREATE and not request.subresource:
        return request.obj
    if request.operation != UPDATE or request.subresource != "resize":
        return None
    is_leaving = ((request.old or {}).get("metadata") or {}).get("deletionTimestamp") is not None
    return None if is_leaving else request.obj
