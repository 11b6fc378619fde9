"""Aggregated ClusterRoles kept in step with the roles they gather from.

Roles are few, so any change looks at all of them, as upstream's controller does. A role that gathers from another
aggregated one is right a round later, when that one's change arrives. Nothing is corrected before all roles are
known: half a list would take rights away.
"""

import logging
from typing import Any, Final

import msgspec

from flexlet.api.status import ApiError
from flexlet.apiserver.auth.aggregation import outdated
from flexlet.apiserver.housekeeping.follow import RETRY_S
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

CLUSTER_ROLES: Final = Ref("rbac.authorization.k8s.io", "v1", "clusterroles")

log: Final = logging.getLogger(__name__)

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


async def aggregate(cluster: Cluster, clock: Clock) -> None:
    """Keep aggregated roles filled until cancelled."""
    while True:
        try:
            await aggregate_once(cluster)
        except ApiError as error:
            log.warning("listing again", extra={"resource": CLUSTER_ROLES.plural, "error": str(error)})
        await clock.sleep(RETRY_S)


async def aggregate_once(cluster: Cluster) -> None:
    """List, correct, then correct after every batch of changes until the watch ends."""
    listing = await cluster.list(CLUSTER_ROLES)
    roles = {_name(role): role for role in map(_decode, listing.items)}
    await _correct(cluster, roles)
    async for batch in cluster.watch(CLUSTER_ROLES, listing.resource_version):
        for change in batch:
            role = _decode(change.object)
            roles.pop(_name(role), None)
            if change.type != "DELETED":
                roles[_name(role)] = role
        await _correct(cluster, roles)


async def _correct(cluster: Cluster, roles: dict[str, dict[str, Any]]) -> None:
    for name, rules in outdated(list(roles.values())).items():
        await cluster.patch(CLUSTER_ROLES, "", name, {"rules": rules})


def _name(role: dict[str, Any]) -> str:
    return str(role["metadata"]["name"])
