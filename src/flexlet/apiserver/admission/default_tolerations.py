"""DefaultTolerationSeconds: pods stay for five minutes on a node that went silent."""

from typing import Any, Final

from flexlet.apiserver.admission.refusal import CREATE, UPDATE, is_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest

TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SECONDS: Final = 300


class DefaultTolerationSeconds(Plugin):
    """Adds a toleration for each of the two taints, unless the pod has its own opinion on it."""

    name = "DefaultTolerationSeconds"

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """On create, and on update so that old pods get them too."""
        del view
        if request.subresource or request.obj is None or not is_pod(request):
            return
        if request.operation not in {CREATE, UPDATE}:
            return
        spec = request.obj.setdefault("spec", {})
        tolerations = spec.get("tolerations") or []
        added = [_for_a_while(taint) for taint in TAINTS if not _is_mentioned(taint, tolerations)]
        if added:
            spec["tolerations"] = [*tolerations, *added]


def _is_mentioned(taint: str, tolerations: list[dict[str, Any]]) -> bool:
    """An empty key or effect stands for any."""
    return any(
        toleration.get("key", "") in {taint, ""} and toleration.get("effect", "") in {"NoExecute", ""}
        for toleration in tolerations
    )


def _for_a_while(taint: str) -> dict[str, Any]:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}
