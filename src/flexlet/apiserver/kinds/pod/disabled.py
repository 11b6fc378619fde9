"""Fields that a switched-off gate takes away.

What an object already uses stays, so that turning a gate off never changes pods that rely on it. Some gates are
off in Kubernetes 1.36 and have no switch here (`ContainerStopSignals`, `ClusterTrustBundleProjection`,
`PodCertificateRequest`, `GenericWorkload`, `ImageVolumeWithDigest`, `DRANodeAllocatableResources`): their fields
are never stored.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerlists import all_containers

STATUS_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def drop_disabled_spec(spec: Object, old: Object | None, gates: Mapping[str, bool]) -> None:
    """Take from a spec what gates switch off, unless `old` uses it."""
    if not gates["PodLevelResources"] and not uses_pod_level(old or {}):
        spec.pop("resources", None)
    if not gates["InPlacePodVerticalScaling"] and not uses_resize_policy(old or {}):
        for container in all_containers(spec):
            container.pop("resizePolicy", None)
    spec.pop("schedulingGroup", None)
    for container in all_containers(spec):
        lifecycle = container.get("lifecycle")
        if lifecycle and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
            del container["lifecycle"]
    for volume in spec.get("volumes") or ():
        if projected := volume.get("projected"):
            for source in projected.get("sources") or ():
                source.pop("clusterTrustBundle", None)
                source.pop("podCertificate", None)


def drop_disabled_status(status: Object, old: Object, gates: Mapping[str, bool]) -> None:
    """Take from the status of `old`'s successor what gates switch off."""
    before = old.get("status") or {}
    if not gates["InPlacePodLevelResourcesVerticalScaling"] and not {"resources", "allocatedResources"} & set(
        before
    ):
        status.pop("resources", None)
        status.pop("allocatedResources", None)
    resize = gates["InPlacePodVerticalScaling"] or uses_resize_policy(old.get("spec") or {})
    for entry in _container_statuses(status):
        if not resize:
            entry.pop("resources", None)
            entry.pop("allocatedResources", None)
        for mount in entry.get("volumeMounts") or ():
            mount.pop("volumeStatus", None)
    status.pop("nodeAllocatableResourceClaimStatuses", None)


def _container_statuses(status: Object) -> Iterator[Object]:
    for key in STATUS_LISTS:
        yield from status.get(key) or ()


def uses_pod_level(spec: Object) -> bool:
    """Whether the spec has amounts at pod level."""
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def uses_resize_policy(spec: Object) -> bool:
    """Whether any container says what a resize may restart."""
    return any(c.get("resizePolicy") for key in ("containers", "initContainers") for c in spec.get(key) or ())
