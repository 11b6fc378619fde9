"""RuntimeClass: a pod's overhead and placement come from its runtime class."""

from typing import Any, Final

from flexlet.api.decode import from_value
from flexlet.api.gotext import quote
from flexlet.api.pod import ResourceList
from flexlet.apiserver.admission.refusal import forbidden, new_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

BUCKET: Final = "node.k8s.io/runtimeclasses"
MISMATCH: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(Plugin):
    """Everything happens while mutating: nothing changes the overhead afterwards."""

    name = "RuntimeClass"

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse an unknown class and an overhead of the client's own; take over what the class says."""
        pod = new_pod(request)
        if pod is None:
            return
        spec = pod.setdefault("spec", {})
        runtime = _runtime_class(request, spec, view)
        _set_overhead(request, spec, (runtime.get("overhead") or {}).get("podFixed"))
        if runtime.get("scheduling"):
            _set_scheduling(request, spec, runtime["scheduling"])


def _runtime_class(request: AdmissionRequest, spec: Object, view: View) -> Object:
    name = spec.get("runtimeClassName")
    if name is None:
        return {}
    found = view.get(BUCKET, "", name)
    if found is None:
        raise forbidden(request, f"pod rejected: RuntimeClass {quote(name)} not found")
    return found


def _set_overhead(request: AdmissionRequest, spec: Object, defined: dict[str, Any] | None) -> None:
    given = spec.get("overhead")
    if defined is None:
        if given is not None:
            raise forbidden(
                request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
        return
    if given and from_value(given, ResourceList) != from_value(defined, ResourceList):
        raise forbidden(request, MISMATCH)
    spec["overhead"] = dict(defined)


def _set_scheduling(request: AdmissionRequest, spec: Object, scheduling: Object) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.setdefault(key, value) != value:
            wanted = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise forbidden(request, f"conflict: {wanted}; pod.spec.nodeSelector[{key}] = {selector[key]}")
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merged([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())])
    if tolerations:
        spec["tolerations"] = tolerations


def merged(tolerations: list[Object]) -> list[Object]:
    """Without those that another one covers; of equal ones the first stays."""
    kept: list[Object] = []
    for index, toleration in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != toleration)
        if not any(_covers(other, toleration) for other in (*kept, *later)):
            kept.append(toleration)
    return kept


def _covers(wide: Object, narrow: Object) -> bool:
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    if narrow.get("key", "") != wide.get("key", "") and (wide.get("key") or not exists):
        return False
    effect = wide.get("effect", "")
    if effect and narrow.get("effect", "") != effect:
        return False
    if effect == "NoExecute" and not _lasts(wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")):
        return False
    same_value = narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", "")
    return exists or (wide.get("operator", "Equal") == "Equal" and same_value)


def _lasts(wide: int | None, narrow: int | None) -> bool:
    return wide is None or (narrow is not None and narrow <= wide)
