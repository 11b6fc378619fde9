"""NodeDeclaredFeatureValidator: an update may only ask for what the pod's node says it can do."""

from collections.abc import Iterator, Mapping
from typing import Final

from flexlet.api.decode import from_value
from flexlet.api.pod import Pod
from flexlet.apiserver.admission.refusal import UPDATE, forbidden, is_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

POD_LEVEL_RESIZE: Final = "InPlacePodLevelResourcesVerticalScaling"
INIT_CONTAINER_RESIZE: Final = "InPlacePodVerticalScalingInitContainers"


class NodeDeclaredFeatureValidator(Plugin):
    """Reads ``status.declaredFeatures`` of the node, for pods that are bound."""

    name = "NodeDeclaredFeatureValidator"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._enabled = gates.get("NodeDeclaredFeatures", True)

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse an update that needs features the node does not declare."""
        if not self._enabled or request.subresource not in {"", "resize"} or not changes_bound_pod(request):
            return
        old, new = from_value(request.old, Pod), from_value(request.obj, Pod)
        needed = list(required_features(old, new))
        if not needed:
            return
        declared = (node_of(request, view).get("status") or {}).get("declaredFeatures") or ()
        missing = [feature for feature in needed if feature not in declared]
        if missing:
            where = f'which are not available on node "{new.spec.node_name}"'
            raise forbidden(request, f"pod update requires features {', '.join(missing)} {where}")


def required_features(old: Pod, new: Pod) -> Iterator[str]:
    """What a node must know to carry out the change."""
    if old.spec.resources != new.spec.resources:
        yield POD_LEVEL_RESIZE
    pairs = zip(old.spec.init_containers, new.spec.init_containers, strict=False)
    if any(not before.is_sidecar and before.resources != after.resources for before, after in pairs):
        yield INIT_CONTAINER_RESIZE


def changes_bound_pod(request: AdmissionRequest) -> bool:
    """Whether this changes the spec of a pod that has a node; the generation tells."""
    if request.operation != UPDATE or request.obj is None or not is_pod(request):
        return False
    return bool(request.obj["spec"].get("nodeName")) and _generation(request.obj) != _generation(request.old or {})


def node_of(request: AdmissionRequest, view: View) -> Object:
    """The node of the pod; without it nothing can be promised."""
    name = (request.obj or {})["spec"]["nodeName"]
    node = view.get("nodes", "", name)
    if node is None:
        raise forbidden(request, f'node "{name}" not found')
    return node


def _generation(obj: Object) -> int:
    return int((obj.get("metadata") or {}).get("generation") or 0)
