"""Counts the changes of buckets, so that whoever keeps something derived from them knows when it is stale."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

Subscribe: TypeAlias = Callable[[str, Callable[[object], None]], object]
"""Calls back for every change of a bucket; the store's own `subscribe` fits."""


class Versions:
    """A counter per bucket; call it with the bucket's name."""

    def __init__(self, subscribe: Subscribe, buckets: Iterable[str]) -> None:
        self._counts = dict.fromkeys(buckets, 0)
        for bucket in self._counts:
            subscribe(bucket, self._counting(bucket))

    def __call__(self, bucket: str) -> int:
        """How often the bucket has changed since the start."""
        return self._counts[bucket]

    def _counting(self, bucket: str) -> Callable[[object], None]:
        def count(event: object) -> None:
            del event
            self._counts[bucket] += 1

        return count
