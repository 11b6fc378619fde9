"""One feed, many readers: each observation is fetched and decoded once and told to everyone who joined.

With a feed per decider the pods would be listed, watched and decoded as often as there are controllers. Readers
must join before the fanout runs, since what went by is not told again.
"""

from collections.abc import Callable

from flexlet.core.observations import Observation
from flexlet.engine.feed import Feed
from flexlet.ports.cluster import Ref

Reader = Callable[[list[Observation]], None]


class Fanout:
    """Runs one feed for its readers; they are called in the order they joined and must not wait."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._readers: list[Reader] = []

    @property
    def ref(self) -> Ref:
        """What is followed."""
        return self._feed.ref

    def join(self, reader: Reader) -> None:
        """Tell `reader` every batch from the first list on."""
        self._readers.append(reader)

    async def run(self) -> None:
        """Until cancelled."""
        async for batch in self._feed.batches():
            for reader in self._readers:
                reader(batch)
