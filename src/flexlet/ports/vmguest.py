"""A launcher at the other end of a line, as whoever sizes virtual machines needs it.

Adapters: the control socket of a launcher on this host, the same through ``pods/exec`` of any cluster, and a
simulated one. A broken line raises HypervisorGone; open another one: orders are declarative and reports complete.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from flexlet.core.vm.guest import Order, Report


class GuestLink(Protocol):
    """One launcher."""

    async def order(self, order: Order) -> None:
        """Tell it what shall be; it answers by reports."""
        ...

    def reports(self) -> AsyncIterator[Report]:
        """The machine as it is now, and again whenever that changes; ends with the machine."""
        ...


class GuestLinks(Protocol):
    """All launchers of a cluster."""

    def open(self, namespace: str, pod: str) -> AbstractAsyncContextManager[GuestLink]:
        """A line to the launcher in this pod; HypervisorGone if nobody answers."""
        ...
