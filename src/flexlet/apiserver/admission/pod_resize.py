"""PodResizeValidator: a resize beyond what the node could ever give is refused at once.

Compares the pod alone with the node's allocatable; whether it fits beside the other pods is the node's decision,
which may come later. Requests only: limits may exceed the node.
"""

from collections.abc import Iterator, Mapping

from flexlet.api.decode import from_value
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.api.quantity import ZERO
from flexlet.api.status import StatusCause
from flexlet.apiserver.admission.node_declared_features import changes_bound_pod, node_of
from flexlet.apiserver.admission.refusal import forbidden
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.core.resources.amounts import as_integer
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.names import COMPUTE


class PodResizeValidator(Plugin):
    """Guards ``/resize`` of bound pods, growing and shrinking alike."""

    name = "PodResizeValidator"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._enabled = gates.get("InPlacePodVerticalScaling", True)

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse on nodes that are not Linux, and what exceeds the node."""
        if not self._enabled or request.subresource != "resize" or not changes_bound_pod(request):
            return
        node = from_value(node_of(request, view), Node)
        system = node.metadata.labels.get("kubernetes.io/os", "linux")
        if system != "linux":
            detail = f'pod resize is only supported on linux nodes, node "{node.metadata.name}" is "{system}"'
            raise forbidden(request, detail, [StatusCause(reason="UnsupportedPlatform")])
        if exceeding := "; ".join(_exceeding(from_value(request.obj, Pod), node)):
            detail = f"node didn't have enough allocatable resources: {exceeding}"
            raise forbidden(request, detail, [StatusCause(reason="NodeCapacity")])


def _exceeding(pod: Pod, node: Node) -> Iterator[str]:
    requests = pod_requests(pod)
    for name in COMPUTE:
        wanted = requests.get(name, ZERO)
        allocatable = node.status.allocatable.get(name, ZERO)
        if wanted > allocatable:
            amounts = as_integer(name, wanted), as_integer(name, allocatable)
            yield f"{name}, requested: {amounts[0]}, allocatable: {amounts[1]}"
