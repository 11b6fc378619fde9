"""The way from a node to its API server, which a story can close and open again."""

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from flexlet.api import status
from flexlet.ports.cluster import Cluster


class Reach:
    """A cluster that may be out of reach; it outlives the agents that talk through it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.is_away = False
        """Whether every call is answered as if nobody were there; watches end with the next change."""

    @property
    def port(self) -> Cluster:
        """What an agent is given."""
        return cast("Cluster", self)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._cluster, name)
        return self._followed(found) if inspect.isasyncgenfunction(found) else self._called(found)

    def _called(self, work: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **named: Any) -> Any:
            self._check()
            return await work(*args, **named)

        return call

    def _followed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        async def follow(*args: Any, **named: Any) -> AsyncIterator[Any]:
            self._check()
            async for each in work(*args, **named):
                self._check()
                yield each

        return follow

    def _check(self) -> None:
        if self.is_away:
            raise status.failure(503, "ServiceUnavailable", "nobody is there")
