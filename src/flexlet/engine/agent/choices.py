"""What may be chosen for an agent."""

from collections.abc import Awaitable, Callable

import msgspec

from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.sharing import WHOLE, Share
from flexlet.engine.agent.loop import Witness
from flexlet.engine.agent.staticpods import StaticSource
from flexlet.ports.hostledger import HostLedger


async def _at_once() -> None:
    """Nobody has to wait for a turn."""


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """As they stand: a node that has its machine for itself, and pods from the API alone."""

    resize: ResizeSettings = ResizeSettings()
    enforce: bool = True
    """Whether all pods together are held to what the node offers."""
    parallel_pulls: int | None = 1
    """None for as many as there are."""
    pull_qps: float = 0.0
    """No limit if 0."""
    pull_burst: int = 10
    static: StaticSource | None = None
    witness: Witness | None = None
    event_turn: Callable[[], Awaitable[None]] = _at_once
    """Waited for before each event is sent."""
    pod_cidr: str = ""
    """Where pods get their addresses, unless the cluster says so."""
    host_ledger: HostLedger | None = None
    """Shared with the other agents of the host."""
    share: Share = WHOLE
    """What this one of them has to begin with."""
