"""Services with an address of their own: containers find them in their environment."""

import msgspec

from flexlet.core.agent.setup import Service, ServicePort
from flexlet.core.observations import Seen, Vanished
from flexlet.engine.agent.loop import AgentLoop, replaced
from flexlet.engine.feed import Feed
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

_SERVICES = Ref("", "v1", "services")


class Services:
    """Follows the services of the cluster; `run` it in a task group."""

    def __init__(self, cluster: Cluster, clock: Clock, loop: AgentLoop) -> None:
        self._feed = Feed(cluster, clock, _SERVICES)
        self._loop = loop
        self._known: dict[tuple[str, str], Service] = {}

    async def run(self) -> None:
        """Until cancelled."""
        async for batch in self._feed.batches():
            for each in batch:
                if isinstance(each, Seen) and (found := _service(each.raw)) is not None:
                    self._known[found.namespace, found.name] = found
                elif isinstance(each, Vanished):
                    self._known.pop((each.namespace, each.name), None)
            self._loop.tell(replaced(services=tuple(self._known.values())))


def _service(raw: bytes) -> Service | None:
    """A service with an address; others have no variables."""
    found = msgspec.json.decode(raw)
    meta, spec = found["metadata"], found.get("spec") or {}
    if spec.get("clusterIP", "None") in {"", "None"}:
        return None
    return Service(
        namespace=meta["namespace"],
        name=meta["name"],
        cluster_ip=spec["clusterIP"],
        ports=tuple(
            ServicePort(port=each["port"], name=each.get("name", ""), protocol=each.get("protocol", "TCP"))
            for each in spec.get("ports") or ()
        ),
    )
