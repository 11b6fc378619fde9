"""What the API server fills into a pod, in place, whenever it reads one.

`default_spec` is for every pod spec, those in templates included; `default_pod` adds what only real pods get:
requests from limits, pod-level resources, host ports on the host network, and the shape Go writes (`kinds.shape`;
workloads settle themselves). Amounts are the business of `flexlet.core.resources`.

Follows ``pkg/apis/core/v1/{defaults,conversion}.go``. Must stay true: defaulting twice changes nothing.
"""

import functools
from collections.abc import Mapping
from typing import Final, cast

import msgspec

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerdefaults import default_container
from flexlet.apiserver.kinds.pod.containerlists import all_containers
from flexlet.apiserver.kinds.pod.knownspecs import MARK, MAX_SPECS, template_text
from flexlet.apiserver.kinds.pod.volumedefaults import default_volume
from flexlet.apiserver.kinds.shape import settle
from flexlet.core.resources.defaults import default_pod_dict
from flexlet.core.resources.rounding import pod_lists, round_list

_LEGACY_ANNOTATIONS: Final = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def default_pod(pod: Object, gates: Mapping[str, bool]) -> None:
    """Complete a pod."""
    drop_legacy_annotations(pod)
    spec = _completed(pod.pop("spec", None) or {}, pod_level=gates["PodLevelResources"])
    status = pod.get("status")
    if status:
        for amounts, path in pod_lists({}, status):
            round_list(amounts, path)
        _default_status(status)
    settle(pod, "core.v1.Pod")
    pod["spec"] = spec


def _completed(spec: Object, *, pod_level: bool) -> Object:
    """The whole spec; a pod's spec is most often that of another pod, or complete already."""
    found = template_text(spec)
    if found is None:
        _complete(spec, pod_level=pod_level)
        return spec
    text, token_volume = found
    return cast("Object", _decode(_completed_text(text, pod_level).replace(MARK, token_volume)))


@functools.lru_cache(maxsize=MAX_SPECS)
def _completed_text(text: bytes, pod_level: bool) -> bytes:
    spec = cast("Object", _decode(text))
    _complete(spec, pod_level=pod_level)
    return _encode(spec)


def _complete(spec: Object, *, pod_level: bool) -> None:
    _default_resources({"spec": spec}, spec, pod_level=pod_level)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    settle(spec, "core.v1.PodSpec")


def default_spec(spec: Object) -> None:
    """Complete the spec of a pod or of a template."""
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    mirror_service_account(spec)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for container in all_containers(spec):
        default_container(container)


def default_template_amounts(spec: Object) -> None:
    """Round the amounts of a template; real pods get theirs from `default_pod`."""
    for container in all_containers(spec):
        _round_requirements(container.get("resources"))
    for volume in spec.get("volumes") or ():
        claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        _round_requirements((claim.get("spec") or {}).get("resources"))
    _round_requirements(spec.get("resources"))
    round_list(spec.get("overhead") or {})


def mirror_service_account(spec: Object) -> None:
    """Keep the old name of ``serviceAccountName`` in step; the new name wins."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def drop_legacy_annotations(obj: Object) -> None:
    """Init containers once lived in annotations; no reader may find them there."""
    annotations = (obj.get("metadata") or {}).get("annotations")
    if annotations:
        for key in _LEGACY_ANNOTATIONS:
            annotations.pop(key, None)


def _default_resources(pod: Object, spec: Object, *, pod_level: bool) -> None:
    resources = spec.get("resources")
    if pod_level or not resources:
        default_pod_dict(pod)
        return
    # Without the gate nothing is filled in at pod level, and what is there stays as it is but for rounding.
    spec["resources"] = None
    default_pod_dict(pod)
    spec["resources"] = resources
    _round_requirements(resources)


def _round_requirements(resources: Object | None) -> None:
    if resources:
        round_list(resources.get("limits") or {})
        round_list(resources.get("requests") or {})


def _default_host_ports(spec: Object) -> None:
    """On the host network a container's port is the host's port."""
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _default_status(status: Object) -> None:
    """``podIP`` and the first of ``podIPs`` are the same thing; where they differ, ``podIP`` is right."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]
