"""How far back history reaches: at most so many revisions, so many seconds, so many bytes.

Separate because it is the only place of the store where time counts, and time is an argument here. Ages are
known to a hundredth of the kept span: one mark per step instead of a timestamp per event.
"""

from collections import deque
from collections.abc import Mapping

from msgspec import Struct

from flexlet.apiserver.store.bucket import Bucket


class Mark(Struct, frozen=True, gc=False):
    """At this time the store stood at this revision."""

    time: float
    revision: int


class Retention:
    """Remembers when revisions were reached and says which of them are old enough to forget."""

    def __init__(self, events: int, seconds: float) -> None:
        self._events = events
        self._seconds = seconds
        self._marks: deque[Mark] = deque()
        self._aged = 0

    def reached(self, revision: int, now: float) -> None:
        """Note that everything up to `revision` exists by `now`."""
        if not self._marks or now - self._marks[-1].time >= self._seconds / 100:
            self._marks.append(Mark(now, revision))

    def cutoff(self, revision: int, now: float) -> int:
        """The newest revision that is no longer part of history when the store stands at `revision`."""
        while self._marks and self._marks[0].time <= now - self._seconds:
            self._aged = self._marks.popleft().revision
        return max(self._aged, revision - self._events, 0)


class ByteBudget(Struct, frozen=True):
    """How many bytes history may keep alive: in one bucket, and in all of them."""

    each: int
    total: int

    def shrink(self, buckets: Mapping[str, Bucket]) -> list[str]:
        """Let buckets that hold too much forget their oldest; the names of those that did.

        A tenth more than needed goes, so that this happens once in a while and not with every write. Over the
        total, the bucket that holds most gives first: large ConfigMaps do not cost the history of pods.
        """
        shrunk = [name for name, bucket in buckets.items() if self._over(bucket, self.each)]
        held = sum(bucket.history_bytes for bucket in buckets.values())
        while held > self.total:
            name, largest = max(buckets.items(), key=lambda item: item[1].history_bytes)
            before = largest.history_bytes
            if not largest.shrink(before - max(held - self.total, self.total // 10)):
                break
            held -= before - largest.history_bytes
            shrunk.append(name)
        return shrunk

    @staticmethod
    def _over(bucket: Bucket, limit: int) -> bool:
        return bucket.history_bytes > limit and bucket.shrink(limit - limit // 10)
