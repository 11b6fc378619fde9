"""The loops a usable API needs, beside it in the same process."""

import asyncio
from collections.abc import Iterator
from typing import Final

from flexlet.apiserver.admission.resource_quota import counting_of
from flexlet.apiserver.auth.pki import Pki
from flexlet.apiserver.housekeeping import clusterroles, csr, events, namespaces, serviceaccounts
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apiserver.housekeeping.quota import QuotaKeeper
from flexlet.apiserver.rest.registry import Registry
from flexlet.core.faults import Faults
from flexlet.core.gates import Gates
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

NEEDED: Final = {"delete", "list"}


async def keep_up(
    cluster: Cluster,
    registry: Registry,
    pki: Pki,
    gates: Gates,
    clock: Clock,
    definitions: Definitions,
    faults: Faults,
) -> None:
    """Run all of them until cancelled."""

    def contents() -> Iterator[Ref]:
        return namespaced(registry)

    quotas = QuotaKeeper(cluster, clock, contents, counting_of(gates.enabled), faults)
    async with asyncio.TaskGroup() as group:
        group.create_task(serviceaccounts.repair(cluster, pki.ca_pem, clock, faults))
        group.create_task(clusterroles.aggregate(cluster, clock, faults))
        group.create_task(csr.approve_and_sign(cluster, pki.authority, clock, pki.hosts, faults))
        group.create_task(events.expire(cluster, clock, faults))
        group.create_task(definitions.run())
        group.create_task(quotas.run())
        group.create_task(namespaces.terminate(cluster, clock, contents, faults))


def namespaced(registry: Registry) -> Iterator[Ref]:
    """What can lie in a namespace; each bucket once."""
    seen: set[str] = set()
    for kind in registry.kinds():
        if kind.namespaced and kind.stored and kind.storage_bucket not in seen and set(kind.verbs) >= NEEDED:
            seen.add(kind.storage_bucket)
            yield Ref(kind.group, kind.version, kind.plural)
