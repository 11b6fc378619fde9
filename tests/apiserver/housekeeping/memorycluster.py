"""The cluster in memory, as the loops inside a server see it: access reviews are answered, writes are told."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.engine.fakes import FakeCluster, Object

from flexlet.apiserver.contract.kind import object_key
from flexlet.ports.cluster import Ref


def _nobody(review: Object) -> bytes:
    raise AssertionError(f"nobody answers {review}")


class MemoryCluster(FakeCluster):
    """A cluster whose access reviews somebody answers."""

    def __init__(self, reviews: Callable[[Object], bytes] = _nobody) -> None:
        super().__init__()
        self._reviews = reviews

    @property
    def writes(self) -> list[tuple[str, str, str]]:
        """Every create and change: the subresource or the verb, the resource, the key."""
        return [
            ("".join(rest[:1]) or verb, plural, object_key(namespace, name))
            for verb, plural, namespace, name, *rest in self.log
            if verb in {"create", "patch", "update"}
        ]

    def by_key(self, plural: str) -> dict[str, Object]:
        """The objects of a resource by their keys."""
        return {
            object_key(place, name): obj for (kind, place, name), obj in self.objects.items() if kind == plural
        }

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        """See `Cluster.create`."""
        if ref.plural == "subjectaccessreviews":
            return self._reviews(body)
        return await super().create(ref, namespace, body, path=path)


async def settle() -> None:
    """Let every task do what it can."""
    for _ in range(50):
        await asyncio.sleep(0)
