"""What happened in which order, as the cluster and the kernel saw it."""

from typing import Any

import msgspec
from tests.engine.agent.world import condition
from tests.scenarios.node_resize.stage import Stage

from flexlet.api.quantity import Quantity
from flexlet.core.node.closing import RESIZING_TAINT

Json = dict[str, Any]


class Order:
    """Writes down what the Node offers, when containers are asked to stop, and when pods have failed."""

    def __init__(self, stage: Stage) -> None:
        self.lines: list[str] = []
        self._stage = stage
        self.reasons: list[str] = []
        """What the condition NodeResize said, one after the other."""
        self._offered = ""
        self._failed: set[str] = set()
        store = stage.there.cluster.store
        store.subscribe("nodes", self._node)
        store.subscribe("pods", self._pod)
        self._stop = stage.node.sim.runtime.stop_container
        stage.node.sim.runtime.stop_container = self._stopped  # type: ignore[method-assign]

    @property
    def seen(self) -> dict[str, list[str]]:
        """By the names of the stories."""
        return {"order": list(self.lines), "reasons": list(self.reasons)}

    def forget(self) -> None:
        """What happened so far is known."""
        self.lines.clear()
        del self.reasons[:-1]

    def _note(self, line: str) -> None:
        if line not in self.lines[-1:]:
            self.lines.append(line)

    def _node(self, event: Any) -> None:
        found: Json = msgspec.json.decode(event.row.value)
        offered = found["status"].get("allocatable", {})
        closed = [each for each in found["spec"].get("taints", ()) if each["key"] == RESIZING_TAINT]
        memory = Quantity.parse(offered.get("memory", "0")).value >> 20
        line = f"node offers {offered.get('cpu')} CPUs, {memory}Mi{', closed' if closed else ''}"
        if line != self._offered:
            self._offered = line
            self._note(line)
        reason = condition(found, "NodeResize").get("reason", "")
        if reason not in self.reasons[-1:]:
            self.reasons.append(reason)

    def _pod(self, event: Any) -> None:
        found: Json = msgspec.json.decode(event.row.value)
        name = found["metadata"]["name"]
        if found["status"].get("phase") == "Failed" and name not in self._failed:
            self._failed.add(name)
            self._note(f"{name} has failed")

    async def _stopped(self, container_id: str, timeout_s: int) -> None:
        container = self._stage.node.sim.containerd.containers.get(container_id)
        if container is not None:
            self._note(f"{container.sandbox.config.name} is asked to stop within {timeout_s} s")
        await self._stop(container_id, timeout_s)
