"""Which objects count towards a limit of a quota.

Every limit belongs to exactly one resource, written like ``pods`` or ``deployments.apps``: ``count/X`` counts
objects of X, the older names (``secrets``, ``services.nodeports``) and the compute names are fixed.
"""

import functools
from typing import Final

from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY

PODS: Final = "pods"
SERVICES: Final = "services"
COUNT_PREFIX: Final = "count/"
REQUESTS_PREFIX: Final = "requests."
LIMITS_PREFIX: Final = "limits."

COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)

_PODS: Final = frozenset(
    {PODS, *COMPUTE, *(prefix + name for prefix in (REQUESTS_PREFIX, LIMITS_PREFIX) for name in COMPUTE)}
)
_SERVICES: Final = frozenset({SERVICES, "services.nodeports", "services.loadbalancers"})
_ALIASES: Final = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})
_VOLUME_CLAIMS: Final = ("persistentvolumeclaims", "requests.storage")
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"

ALWAYS_MEASURED: Final = frozenset(
    {PODS, SERVICES, "persistentvolumeclaims", "resourceclaims.resource.k8s.io", *_ALIASES}
)
"""Resources whose usage is known to be zero even where no such objects are served."""


@functools.lru_cache(maxsize=4096)
def resource_of(name: str) -> str | None:
    """The resource whose objects count towards the limit `name`; None if nothing does."""
    if name.startswith(COUNT_PREFIX):
        return name.removeprefix(COUNT_PREFIX)
    if name in _PODS or name.removeprefix(REQUESTS_PREFIX).startswith(HUGEPAGES_PREFIX):
        return PODS
    if name in _SERVICES:
        return SERVICES
    if name in _ALIASES:
        return name
    if name in _VOLUME_CLAIMS or name.endswith(
        tuple(f".storageclass.storage.k8s.io/{claim}" for claim in _VOLUME_CLAIMS)
    ):
        return "persistentvolumeclaims"
    if name.endswith(".deviceclass.resource.k8s.io/devices"):
        return "resourceclaims.resource.k8s.io"
    if name.startswith(REQUESTS_PREFIX) and is_extended(name.removeprefix(REQUESTS_PREFIX)):
        return PODS
    return None


def count_names(resource: str) -> tuple[str, ...]:
    """The limits that count objects of a resource one by one."""
    counted = COUNT_PREFIX + resource
    return (counted, resource) if resource in _ALIASES else (counted,)


def is_extended(name: str) -> bool:
    """Whether this is a resource of a vendor (``nvidia.com/gpu``), not one of Kubernetes' own."""
    return name.startswith(_DEVICE_CLASS) or ("/" in name and "kubernetes.io/" not in name)
