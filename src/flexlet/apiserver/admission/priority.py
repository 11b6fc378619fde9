"""Priority: a pod's priority comes from its class, never from the client.

The names, values and immutability of classes themselves are validation; here is what needs the other classes:
resolving a name, one global default, and that the two system classes stay.
"""

from typing import Any, Final

from flexlet.apiserver.admission.refusal import CREATE, DELETE, UPDATE, forbidden, is_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

BUCKET: Final = "scheduling.k8s.io/priorityclasses"
SYSTEM_CLASSES: Final = frozenset({"system-node-critical", "system-cluster-critical"})
NO_CLASS: Final[Object] = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority(Plugin):
    """Resolves classes of pods; guards the classes."""

    name = "Priority"

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Set priority and preemption policy of a new pod, keep those of an old one."""
        if request.subresource:
            return
        if is_pod(request) and request.obj is not None:
            if request.operation == CREATE:
                _resolve(request, request.obj.setdefault("spec", {}), view)
            elif request.operation == UPDATE:
                _keep(request.obj.setdefault("spec", {}), (request.old or {}).get("spec") or {})
        elif request.operation == DELETE and _is_class(request) and request.name in SYSTEM_CLASSES:
            raise forbidden(request, "this is a system priority class and cannot be deleted")

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """At most one class is the default."""
        obj = request.obj
        if request.subresource or obj is None or not _is_class(request) or not obj.get("globalDefault"):
            return
        default = default_class(view)
        if default is None:
            return
        name = default["metadata"]["name"]
        if request.operation == CREATE or name != obj["metadata"].get("name"):
            raise forbidden(
                request, f"PriorityClass {name} is already marked as default. Only one default can exist"
            )


def default_class(view: View) -> Object | None:
    """The global default; the smallest one, should a race have made two."""
    defaults = [found for found in view.list(BUCKET) if found.get("globalDefault")]
    return min(defaults, key=lambda found: int(found.get("value", 0)), default=None)


def _resolve(request: AdmissionRequest, spec: Object, view: View) -> None:
    name = spec.get("priorityClassName")
    if name:
        found = view.get(BUCKET, "", name)
        if found is None:
            raise forbidden(request, f"no PriorityClass with name {name} was found")
    elif (found := default_class(view)) is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    else:
        found = NO_CLASS
    _set(request, spec, "priority", found.get("value", 0), "the integer value of priority")
    policy = found.get("preemptionPolicy")
    if policy is not None:
        _set(request, spec, "preemptionPolicy", policy, "the string value of PreemptionPolicy")


def _set(request: AdmissionRequest, spec: Object, key: str, computed: Any, title: str) -> None:
    given = spec.get(key)
    if given is not None and given != computed:
        reason = f"priority admission controller computed {computed} from the given PriorityClass name"
        raise forbidden(request, f"{title} ({given}) must not be provided in pod spec; {reason}")
    spec[key] = computed


def _keep(spec: Object, old: Object) -> None:
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and old.get(key) is not None:
            spec[key] = old[key]


def _is_class(request: AdmissionRequest) -> bool:
    return request.kind.plural == "priorityclasses" and request.kind.group == "scheduling.k8s.io"
