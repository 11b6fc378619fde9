"""The usage of a quota, counted from the objects of its namespace.

Admission only ever adds; this is what brings usage down again when pods finish, shrink or go, and what puts a
changed spec into force. Follows ``CalculateUsage`` of Kubernetes 1.36.3.
"""

from collections.abc import Collection, Iterable

from flexlet.api.quantity import ZERO
from flexlet.api.quota import ResourceQuota, ResourceQuotaStatus
from flexlet.core.quota.claim import Claim
from flexlet.core.quota.names import ALWAYS_MEASURED, resource_of
from flexlet.core.quota.scopes import in_scope
from flexlet.core.resources.amounts import add_to


def resources_to_count(quota: ResourceQuota, served: Collection[str]) -> set[str]:
    """The resources of `served` whose objects must be looked at."""
    return {resource for name in quota.spec.hard if (resource := resource_of(name)) in served and resource}


def measure(quota: ResourceQuota, claims: Iterable[Claim], served: Collection[str]) -> ResourceQuotaStatus:
    """The status that follows from the spec and from all objects of the namespace.

    A limit on something that is not served keeps the usage it had, if any.
    """
    hard = quota.spec.hard
    used = {name: ZERO for name in hard if _is_measured(name, served)}
    for claim in claims:
        if in_scope(quota, claim.traits):
            add_to(used, {name: amount for name, amount in claim.usage.items() if name in used})
    kept = {name: amount for name, amount in quota.status.used.items() if name in hard}
    return ResourceQuotaStatus(hard=dict(hard), used=kept | used)


def is_current(quota: ResourceQuota, served: Collection[str]) -> bool:
    """Whether the status has taken over the spec and shows usage wherever there is some to show."""
    return quota.status.hard == quota.spec.hard and all(
        name in quota.status.used for name in quota.spec.hard if _is_measured(name, served)
    )


def _is_measured(name: str, served: Collection[str]) -> bool:
    resource = resource_of(name)
    return resource in served or resource in ALWAYS_MEASURED
