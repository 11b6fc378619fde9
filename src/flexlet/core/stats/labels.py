"""The words of labels that have a fixed choice, so that no metric grows without end."""

from typing import Final

from flexlet.api.nodepod import NodePod

CONTAINER: Final = "container"
INIT_CONTAINER: Final = "init_container"
EPHEMERAL_CONTAINER: Final = "ephemeral_container"

_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
_IMAGE_SIZES: Final = (
    (100 * _GIB, "GT100GB"),
    (60 * _GIB, "60GB-100GB"),
    (40 * _GIB, "40GB-60GB"),
    (30 * _GIB, "30GB-40GB"),
    (20 * _GIB, "20GB-30GB"),
    (10 * _GIB, "10GB-20GB"),
    (5 * _GIB, "5GB-10GB"),
    (1 * _GIB, "1GB-5GB"),
    (500 * _MIB, "500MB-1GB"),
    (100 * _MIB, "100MB-500MB"),
    (10 * _MIB, "10MB-100MB"),
    (0, "0-10MB"),
)
_OUT_OF: Final = "OutOf"
_REJECTIONS: Final = frozenset(
    {
        "AppArmor",
        "Evicted",
        "InitContainerRestartPolicyForbidden",
        "InvalidNodeInfo",
        "NodeShutdown",
        "OutOfcpu",
        "OutOfephemeral-storage",
        "OutOfmemory",
        "OutOfpods",
        "PodFeatureUnsupported",
        "PodLevelResourcesNotSupported",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "UnexpectedPredicateFailureType",
        "UnknownReason",
        "VolumeAttachmentLimitExceeded",
    }
)


def image_size(size_bytes: int) -> str:
    """How large an image is, roughly."""
    return next((words for least, words in _IMAGE_SIZES if size_bytes > least), "N/A")


def rejection(reason: str) -> str:
    """Why a pod was not let in."""
    if reason in _REJECTIONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith(_OUT_OF) else "Other"


def container_type(pod: NodePod, name: str) -> str:
    """Which of a pod's lists a container is in."""
    if any(each.name == name for each in pod.spec.init_containers):
        return INIT_CONTAINER
    if any(each.name == name for each in pod.spec.ephemeral_containers):
        return EPHEMERAL_CONTAINER
    return CONTAINER
