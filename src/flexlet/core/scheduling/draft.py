"""A scratch copy of the world's nodes for one round of decisions: copied only where something is placed."""

from collections.abc import Iterator

from flexlet.core.scheduling import pods
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import WaitingPod
from flexlet.core.scheduling.world import World


class Draft:
    """Nodes as they will be once this round's bindings are done; the World itself stays as it is."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._changed: dict[str, NodeInfo] = {}
        self._settled: set[str] = set()
        self._promised: dict[str, str] = {}
        self.anti_affinity = bool(world.anti_affine)
        self.size = sum(1 for _ in world.live_nodes())

    def nodes(self) -> Iterator[NodeInfo]:
        """All live nodes, with this round's placements."""
        return (self._changed.get(node.name, node) for node in self.world.live_nodes())

    def node(self, name: str) -> NodeInfo:
        """One node, with this round's placements."""
        return self._changed.get(name) or self.world.nodes[name]

    def place(self, pod: WaitingPod, name: str) -> None:
        """Count a pod on a node for the rest of the round."""
        if name not in self._changed:
            self._changed[name] = self.world.nodes[name].without(())
        placed = pods.placed(pod.pod, name)
        self._changed[name].add(placed)
        self._settled.add(pod.uid)
        self.anti_affinity = self.anti_affinity or bool(placed.anti_affinity)

    def promise(self, pod: WaitingPod, name: str) -> None:
        """Keep room for a pod whose victims are about to leave."""
        self._promised[pod.uid] = name

    @property
    def has_promises(self) -> bool:
        """Whether room is kept on any node for a waiting pod."""
        return bool(self._promised or self.world.nominated)

    def reserved(self, pod: WaitingPod, name: str) -> dict[str, int]:
        """Room on the node that is promised to other waiting pods at least as important."""
        sums: dict[str, int] = {}
        if not self.has_promises:
            return sums
        for uid, node in {**self.world.nominated, **self._promised}.items():
            other = self.world.waiting.get(uid)
            if node != name or other is None or uid == pod.uid or uid in self._settled:
                continue
            if other.priority >= pod.priority:
                sums["pods"] = sums.get("pods", 0) + 1
                for resource, amount in other.requests.items():
                    sums[resource] = sums.get(resource, 0) + amount
        return sums
