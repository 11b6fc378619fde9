"""When to look at which pod again. One alarm a pod; setting it anew replaces it."""

import heapq


class Alarms:
    """Times by subject."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def ring(self, subject: str, at: float | None) -> None:
        """At that time, or not at all."""
        if at is None:
            self._at.pop(subject, None)
        elif self._at.get(subject) != at:
            self._at[subject] = at
            heapq.heappush(self._heap, (at, subject))

    def next(self) -> float | None:
        """When the next one rings."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> set[str]:
        """Subjects whose time has come; their alarms are spent."""
        rung = set()
        while (at := self.next()) is not None and at <= now:
            _, subject = heapq.heappop(self._heap)
            del self._at[subject]
            rung.add(subject)
        return rung
