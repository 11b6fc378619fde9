"""Manifests of static pods that a story writes and takes away, and the rules by which they become pods."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from flexlet.api import schema
from flexlet.apiserver.kinds.pod.strategy import PodStrategy
from flexlet.core.gates import DEFAULTS
from flexlet.core.staticpods.pods import Manifest

Json = dict[str, Any]


class SimManifests:
    """A folder of manifests in memory; it outlives the agents that read it."""

    def __init__(self) -> None:
        self._files: dict[str, Json] = {}
        self._followers: list[asyncio.Event] = []

    def write(self, path: str, manifest: Json) -> None:
        """Make or replace a file."""
        self._files[path] = manifest
        self._tell()

    def remove(self, path: str) -> None:
        """Remove a file."""
        del self._files[path]
        self._tell()

    def _tell(self) -> None:
        for each in self._followers:
            each.set()

    async def changes(self) -> AsyncIterator[tuple[Manifest, ...]]:
        """All manifests, at once and then whenever they differ from the last time."""
        changed = asyncio.Event()
        self._followers.append(changed)
        while True:
            yield tuple(Manifest(path, value) for path, value in sorted(self._files.items()))
            await changed.wait()
            changed.clear()


class PostedRules:
    """Static pods are read, completed and refused as if they had been posted."""

    def __init__(self) -> None:
        self._strategy = PodStrategy(DEFAULTS)

    def read(self, value: Json) -> Json:
        """The pod with every field of its type; unknown fields are dropped."""
        pod: Json = schema.read_value(schema.named("core.v1.Pod"), value, checked=False).value
        return pod

    def complete(self, pod: Json) -> list[str]:
        """Fill in defaults, in place, and say what is wrong."""
        self._strategy.default(pod)
        return [str(error) for error in self._strategy.validate(pod)]
