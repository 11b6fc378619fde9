"""Lines to launchers of a cluster of which some nodes are simulated: each pod's node says which kind it needs."""

import contextlib
from collections.abc import AsyncIterator, Iterable

import msgspec

from flexlet.api.status import ApiError
from flexlet.errors import HypervisorGone
from flexlet.ports.cluster import PODS, Cluster
from flexlet.ports.vmguest import GuestLink, GuestLinks


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    spec: _Spec


class PickedLinks:
    """`flexlet.ports.vmguest.GuestLinks`: simulated ones for pods on nodes of these names, real ones elsewhere."""

    def __init__(
        self, cluster: Cluster, simulated: Iterable[str], for_simulated: GuestLinks, for_others: GuestLinks
    ) -> None:
        self._cluster = cluster
        self._simulated = frozenset(simulated)
        self._for_simulated = for_simulated
        self._for_others = for_others

    @contextlib.asynccontextmanager
    async def open(self, namespace: str, pod: str) -> AsyncIterator[GuestLink]:
        """A line to the launcher in this pod; HypervisorGone if nobody answers."""
        try:
            found = msgspec.json.decode(await self._cluster.get(PODS, namespace, pod), type=_Pod)
        except ApiError as error:
            raise HypervisorGone(f"cannot look at pod {namespace}/{pod}: {error}") from error
        links = self._for_simulated if found.spec.node_name in self._simulated else self._for_others
        async with links.open(namespace, pod) as link:
            yield link
