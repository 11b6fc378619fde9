"""TaintNodesByCondition: a new node takes no pods until somebody has seen it ready."""

from typing import Final

from flexlet.apiserver.admission.refusal import CREATE
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest

NOT_READY: Final = "node.kubernetes.io/not-ready"
NO_SCHEDULE: Final = "NoSchedule"


class TaintNodesByCondition(Plugin):
    """The node lifecycle controller takes the taint away again."""

    name = "TaintNodesByCondition"

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Add the taint unless the node came with it."""
        del view
        if request.kind.plural != "nodes" or request.kind.group or request.subresource:
            return
        if request.operation != CREATE or request.obj is None:
            return
        spec = request.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if all((taint.get("key"), taint.get("effect")) != (NOT_READY, NO_SCHEDULE) for taint in taints):
            spec["taints"] = [*taints, {"key": NOT_READY, "effect": NO_SCHEDULE}]
