"""Holds all pods to what the node's balloon leaves them, where the balloon says so (balloon.md §6).

The last state is on disk before it is in the kernel, so that it survives the agent and an API that is away. The
agent looks whenever its pods have changed, and every few seconds while pods use too much for the hard limit. A
balloon that vanished is expected back: its cap stays for a while, because the size behind it may not exist.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from flexlet.core.agent import ballooning
from flexlet.core.agent.world import World
from flexlet.core.balloon import enforcement
from flexlet.core.balloon.enforcement import NO_CAP, Cap, Limits
from flexlet.core.node.events import of_node
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.restored import restored
from flexlet.engine.agent.tree import PodTree
from flexlet.engine.pause import pause
from flexlet.errors import HostError, InputError
from flexlet.ports.checkpoints import Checkpoints
from flexlet.ports.clock import Clock

log: Final = logging.getLogger(__name__)

_AGAIN_S: Final = 5.0
"""How soon a hard limit that pods exceed is tried again, and whatever failed."""
_MISSED_S: Final = 600.0
"""How long a cap outlives its balloon."""
PENDING: Final = "BalloonEnforcementPending"
LIFTED: Final = "BalloonEnforcementLifted"


class Ballooning:
    """One node's cap. `begin` before the size of the node is set, `run` once every source of pods was heard."""

    def __init__(self, loop: AgentLoop, tree: PodTree, checkpoints: Checkpoints, clock: Clock) -> None:
        self._loop = loop
        self._tree = tree
        self._files = checkpoints
        self._clock = clock
        self._cap = NO_CAP
        self._missed_at: float | None = None
        self._told: Cap | None = None
        self._wrong = ""
        self._changed = asyncio.Event()
        self._seen: tuple[object, ...] = ()
        loop.watchers.append(self._look)

    @property
    def cap(self) -> Cap:
        """As it is in force."""
        return self._cap

    async def begin(self) -> None:
        """Cap pods as an agent before this one did; HostError if that cannot be done."""
        self._cap = await restored(self._files, enforcement.FILE, enforcement.parse) or NO_CAP
        if self._cap != NO_CAP:
            await self._tree.cap(enforcement.files(self._cap))

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._changed.clear()
            try:
                await self._keep()
            except HostError as error:
                log.warning("pods are not held to what the balloon leaves them, trying again: %s", error)
                await pause(self._changed, self._clock, _AGAIN_S)
            else:
                await pause(self._changed, self._clock, _AGAIN_S if self._is_waiting() else None)

    def _look(self, before: World, after: World) -> None:
        """Only pods and the size of the node matter."""
        del before
        seen = (after.pods, after.setup.allocatable, after.setup.host)
        if len(seen) != len(self._seen) or any(a is not b for a, b in zip(seen, self._seen, strict=True)):
            self._seen = seen
            self._changed.set()

    def _is_waiting(self) -> bool:
        return not self._cap.is_whole or self._missed_at is not None

    async def _keep(self) -> None:
        wanted = self._wanted()
        if wanted is None:
            return
        used = 0 if wanted.memory is None else await self._tree.used()
        after = enforcement.towards(self._cap, wanted, used)
        if after != self._cap:
            await self._apply(after)
        if not after.is_whole:
            self._tell_pending(after, used)

    def _wanted(self) -> Limits | None:
        """None to leave everything as it is."""
        try:
            found = ballooning.wanted(self._loop.world)
        except InputError as error:
            self._complain(f"annotation of a balloon: {error}")
            return None
        self._wrong = ""
        if found is not None or self._cap == NO_CAP:
            self._missed_at = None
            return found
        return self._after_balloon()

    def _after_balloon(self) -> Limits | None:
        now = self._clock.monotonic()
        if self._missed_at is None:
            self._missed_at = now
        if now - self._missed_at < _MISSED_S:
            return None
        self._missed_at = None
        text = f"no balloon was here for {_MISSED_S:.0f} s: pods are no longer held to what it left them"
        self._announce(LIFTED, text)
        return Limits()

    async def _apply(self, after: Cap) -> None:
        """What is set is on disk first, what is lifted is so last: a crash between leaves a cap, never none."""
        lifts = not enforcement.files(after)
        if not lifts:
            await self._files.save(enforcement.FILE, enforcement.encode(after))
        await self._tree.cap(enforcement.files(after))
        self._cap = after
        if lifts:
            await self._files.save(enforcement.FILE, enforcement.encode(after))
        log.info("pods together are held to %s", _text(enforcement.files(after)))

    def _tell_pending(self, cap: Cap, used: int) -> None:
        if self._told == cap:
            return
        self._told = cap
        hard = "none" if cap.hard is None else str(cap.hard)
        text = f"pods use {used} of {cap.wanted.memory} bytes: memory.high holds them, memory.max waits ({hard})"
        self._announce(PENDING, text)

    def _complain(self, text: str) -> None:
        if text != self._wrong:
            log.warning("pods stay held to what they were: %s", text)
        self._wrong = text

    def _announce(self, reason: str, message: str) -> None:
        self._loop.announce((of_node(self._loop.world.setup.name, "Warning", reason, message),))


def _text(files: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in files.items()) or "nothing but the machine"
