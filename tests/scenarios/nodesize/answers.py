"""Whether each wish is answered in time: granted, refused, or as much as there is room for."""

from typing import Any, Final

import msgspec
from tests.scenarios.nodesize.world import SIZES, World

Json = dict[str, Any]

DECIDED_S: Final = 10.0
"""So soon a wish is answered that is not to wait for room (balloon.md §11)."""


class Answers:
    """Sees every NodeSize; a wish is open until its status is of its generation and nothing is under way."""

    def __init__(self, stage: World) -> None:
        self._stage = stage
        self._open: dict[str, tuple[int, float, float]] = {}
        self.faults: list[str] = []
        self.refused = 0
        self._closed: dict[str, int] = {}

    async def run(self) -> None:
        listing = await self._stage.sim.cluster.list(SIZES)
        async for batch in self._stage.sim.cluster.watch(SIZES, listing.resource_version):
            for change in batch:
                self._see(msgspec.json.decode(change.object))

    def _see(self, size: Json) -> None:
        name, generation = size["metadata"]["name"], size["metadata"]["generation"]
        if self._closed.get(name) == generation:
            return
        if self._open.get(name, (0,))[0] != generation:
            self._open[name] = generation, self._stage.now, patience(size["spec"])
        if is_answered(size):
            self._closed[name] = generation
            self._open.pop(name)
            self.refused += condition(size, "Insufficient") == "True"

    def check(self, able_since: float) -> None:
        """Nobody who could answer since then may be late."""
        for name, (generation, since, patience_s) in self._open.items():
            late = self._stage.now - max(since, able_since) - patience_s
            if late > 0:
                self.faults.append(f"{name}: generation {generation} is unanswered, {late} s late")


def patience(spec: Json) -> float:
    """How long an answer may take."""
    waits = float(spec["deadlineSeconds"]) if spec["onInsufficient"] == "Defer" else 0.0
    return waits + DECIDED_S


def is_answered(size: Json) -> bool:
    """Whether the status says what became of the wish."""
    is_seen = size.get("status", {}).get("observedGeneration") == size["metadata"]["generation"]
    return is_seen and condition(size, "Resizing") == "False"


def condition(size: Json, kind: str) -> str:
    """The status of a condition, empty if there is none."""
    found = size.get("status", {}).get("conditions", [])
    return next((str(each["status"]) for each in found if each["type"] == kind), "")
