"""What a new pod starts with: status, generation, and selectors completed from its labels."""

from collections.abc import Iterator, Mapping
from typing import Final

from flexlet.api.pod import Container, Pod, PodSpec, ResourceRequirements
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.affinity import PREFERRED, REQUIRED
from flexlet.apiserver.kinds.pod.annotations import APP_ARMOR
from flexlet.apiserver.kinds.pod.containerlists import all_containers
from flexlet.apiserver.kinds.pod.defaults import mirror_service_account
from flexlet.apiserver.kinds.pod.disabled import drop_disabled_spec
from flexlet.apiserver.kinds.pod.resources import amounts
from flexlet.apiserver.kinds.pod.security import is_valid_app_armor
from flexlet.core.resources.qos import qos_class

_PROFILES: Final = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


def prepare_new_pod(pod: Object, gates: Mapping[str, bool]) -> None:
    """Everything that is the server's to say about a new pod."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["generation"] = 1
    pod["status"] = {"phase": "Pending", "qosClass": computed_qos(spec, gates)}
    drop_disabled_spec(spec, None, gates)
    # Admission may have set the account meanwhile.
    mirror_service_account(spec)
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [_gated_condition(meta)]
    if labels := meta.get("labels"):
        for term in _terms_with_keys(spec):
            _complete_selector(term, labels)
    if meta.get("annotations"):
        _apply_app_armor(spec, meta["annotations"])


def computed_qos(spec: Object, gates: Mapping[str, bool]) -> str:
    """The QoS class of a spec; the pod level counts only with its gate."""
    whole = spec.get("resources") if gates["PodLevelResources"] else None
    typed = PodSpec(
        containers=tuple(Container(resources=_requirements(c)) for c in spec.get("containers") or ()),
        init_containers=tuple(Container(resources=_requirements(c)) for c in spec.get("initContainers") or ()),
        resources=None if whole is None else _requirements(spec),
    )
    return qos_class(Pod(spec=typed))


def _requirements(holder: Object) -> ResourceRequirements:
    resources = holder.get("resources") or {}
    return ResourceRequirements(
        requests=amounts(resources.get("requests")), limits=amounts(resources.get("limits"))
    )


def _gated_condition(meta: Object) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": meta.get("creationTimestamp"),
        "reason": "SchedulingGated",
        "message": _GATED,
    }


def _terms_with_keys(spec: Object) -> Iterator[Object]:
    """Pod affinity terms and spread constraints, which may take label values from the pod itself."""
    affinity = spec.get("affinity") or {}
    for key in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(key) or {}
        yield from (weighted.get("podAffinityTerm") or {} for weighted in part.get(PREFERRED) or ())
        yield from part.get(REQUIRED) or ()
    yield from spec.get("topologySpreadConstraints") or ()


def _complete_selector(term: Object, labels: Object) -> None:
    """Turn matchLabelKeys and mismatchLabelKeys into expressions with the pod's own values."""
    selector = term.get("labelSelector")
    if selector is None:
        return
    for key, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for label in term.get(key) or ():
            if label in labels:
                expression = {"key": label, "operator": operator, "values": [labels[label]]}
                selector.setdefault("matchExpressions", []).append(expression)


def _apply_app_armor(spec: Object, annotations: Object) -> None:
    """Copy AppArmor profiles from annotations into the fields that replaced them."""
    if (spec.get("os") or {}).get("name") == "windows":
        return
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in all_containers(spec):
        value = annotations.get(f"{APP_ARMOR}{container.get('name')}")
        context = container.get("securityContext") or {}
        if value is None or context.get("appArmorProfile") is not None:
            continue
        profile = app_armor_profile(value)
        if profile is not None and profile != whole:
            container["securityContext"] = {**context, "appArmorProfile": profile}


def app_armor_profile(annotation: str) -> Object | None:
    """The field an annotation stands for; None where there is no valid one."""
    if annotation in _PROFILES:
        return {"type": _PROFILES[annotation]}
    name = annotation.removeprefix("localhost/")
    profile = {"type": "Localhost", "localhostProfile": name}
    if name == annotation or not name:
        return None
    return profile if is_valid_app_armor(profile) else None
