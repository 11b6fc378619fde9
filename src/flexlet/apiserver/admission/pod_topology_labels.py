"""PodTopologyLabels: a pod learns zone and region of its node from its own labels."""

from collections.abc import Mapping
from typing import Final

from flexlet.apiserver.admission.refusal import CREATE, is_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest

LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(Plugin):
    """Labels a Binding, whose labels go on to the pod, and pods that are born bound."""

    name = "PodTopologyLabels"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._enabled = gates.get("PodTopologyLabelsAdmission", True)

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Copy the labels from the node, over what the client wrote."""
        if not self._enabled or request.operation != CREATE or not is_pod(request) or request.obj is None:
            return
        node_name = _node_name(request)
        if not node_name:
            return
        node = view.get("nodes", "", node_name)
        labels = ((node or {}).get("metadata") or {}).get("labels") or {}
        copied = {key: labels[key] for key in LABELS if key in labels}
        if copied:
            metadata = request.obj.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **copied}


def _node_name(request: AdmissionRequest) -> str:
    obj = request.obj or {}
    if not request.subresource:
        return str((obj.get("spec") or {}).get("nodeName") or "")
    target = obj.get("target") or {}
    is_binding = request.subresource == "binding" and target.get("kind") == "Node"
    return str(target.get("name") or "") if is_binding else ""
