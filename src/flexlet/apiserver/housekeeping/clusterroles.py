"""Aggregated ClusterRoles kept in step with the roles they gather from.

Roles are few, so any change looks at all of them, as upstream's controller does. A role that gathers from another
aggregated one is right a round later, when that one's change arrives. Nothing is corrected before all roles are
known: half a list would take rights away.
"""

from functools import partial
from typing import Any, Final

import msgspec

from flexlet.apiserver.auth.aggregation import outdated
from flexlet.apiserver.housekeeping.follow import RETRY_S
from flexlet.apiserver.housekeeping.isolation import Isolation
from flexlet.core.faults import Faults
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

CLUSTER_ROLES: Final = Ref("rbac.authorization.k8s.io", "v1", "clusterroles")

_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


async def aggregate(cluster: Cluster, clock: Clock, faults: Faults | None = None) -> None:
    """Keep aggregated roles filled until cancelled."""
    isolation = Isolation("clusterroles", clock, faults)
    await isolation.repeat(CLUSTER_ROLES.plural, partial(aggregate_once, cluster, isolation), RETRY_S)


async def aggregate_once(cluster: Cluster, isolation: Isolation) -> None:
    """List, correct, then correct after every batch of changes until the watch ends or a role resists."""
    listing = await cluster.list(CLUSTER_ROLES)
    roles = {_name(role): role for role in map(_decode, listing.items)}
    if not await _correct(cluster, roles, isolation):
        return
    async for batch in cluster.watch(CLUSTER_ROLES, listing.resource_version):
        for change in batch:
            role = _decode(change.object)
            roles.pop(_name(role), None)
            if change.type != "DELETED":
                roles[_name(role)] = role
        if not await _correct(cluster, roles, isolation):
            return


async def _correct(cluster: Cluster, roles: dict[str, dict[str, Any]], isolation: Isolation) -> bool:
    """Correct every role that can be; whether that was all of them."""

    async def write(name: str, rules: list[Any]) -> None:
        await cluster.patch(CLUSTER_ROLES, "", name, {"rules": rules})

    wrong = outdated(list(roles.values()))
    done = [
        await isolation.attempt(f"clusterroles/{name}", partial(write, name, rules))
        for name, rules in wrong.items()
    ]
    return all(done)


def _name(role: dict[str, Any]) -> str:
    return str(role["metadata"]["name"])
