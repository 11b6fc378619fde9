"""List, then watch: a stream of observations about one resource.

The consumer sees every object once after a list, then changes. A watch that ends, as servers let them end now and
then, goes on from the last change seen; one that fails, or ends before it showed anything, is followed by a new
list, and what disappeared meanwhile is reported as Vanished. Trouble is met with growing pauses; the pauses are
the only place where time matters, and the clock is handed in.
"""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final

from flexlet.api.status import ApiError
from flexlet.core.faults import Faults
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.core.views import objects
from flexlet.core.views.objects import Viewer
from flexlet.engine.connection import Connection
from flexlet.engine.guard import Guard
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Change, Cluster, Ref

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 10.0


class Feed:
    """One resource, followed for ever. Iterate `batches()` once. `viewer` decodes for all who are told.

    Watches end as a matter of course, so `connection` is told how lists end: one follows every watch that failed.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        ref: Ref,
        *,
        namespace: str = "",
        field_selector: str = "",
        viewer: Viewer = objects.view,
        faults: Faults | None = None,
        connection: Connection | None = None,
    ) -> None:
        self._guard = Guard(f"feed of {ref.plural}", clock, faults)
        self.ref = ref
        self._triple = (ref.group, ref.version, ref.plural)
        self._cluster = cluster
        self._clock = clock
        self._namespace = namespace
        self._field_selector = field_selector
        self._viewer = viewer
        self._known: dict[tuple[str, str], str] = {}
        self._version = ""
        self._blind = False
        self._pause = _FIRST_PAUSE_S
        self._connection = connection

    async def batches(self) -> AsyncIterator[list[Observation]]:
        """Observations as they come; the first batch is the whole list, even if empty."""
        while True:
            started = self._clock.monotonic()
            may_resume = False
            with contextlib.suppress(ApiError):
                if not self._version:
                    yield await self._list()
                moved = False
                async for changes in self._watch():
                    moved = True
                    yield self._readable(changes)
                may_resume = moved
            if not may_resume:
                self._version = ""
            await self._rest(self._clock.monotonic() - started)

    async def _list(self) -> list[Observation]:
        try:
            listing = await self._cluster.list(self.ref, self._namespace, field_selector=self._field_selector)
        except ApiError as error:
            if self._connection is not None:
                self._connection.failed(str(error))
            raise
        if self._connection is not None:
            self._connection.answered()
        batch = self._relisted(listing.items)
        self._version = listing.resource_version
        return batch

    def _watch(self) -> AsyncIterator[Iterable[Change]]:
        return self._cluster.watch(self.ref, self._version, self._namespace, field_selector=self._field_selector)

    async def _rest(self, lasted: float) -> None:
        """A watch that lived long ends the trouble before it."""
        self._pause = _FIRST_PAUSE_S if lasted > _LONGEST_PAUSE_S else self._pause
        await self._clock.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE_S)

    def _relisted(self, items: Iterable[bytes]) -> list[Observation]:
        before, self._known = self._known, {}
        seen = self._readable(Change("ADDED", raw) for raw in items)
        if self._blind:  # nobody knows which object it was: better late than wrongly gone
            self._known = {**before, **self._known}
        gone = [
            Vanished(self._triple, namespace, name, uid)
            for (namespace, name), uid in before.items()
            if self._known.get((namespace, name)) != uid
        ]
        # A name taken over by a new object: its predecessor vanishes before the new one is seen.
        return [*gone, *seen]

    def _readable(self, changes: Iterable[Change]) -> list[Observation]:
        """What can be read; the rest is left out, and known to be there as far as it can be."""
        self._blind = False
        found: list[Observation] = []
        for change in changes:
            try:
                found.append(self._observed(change))
            except Exception as error:  # noqa: BLE001  a client stored what the view did not foresee
                self._guard.take(self._left_out(change), error)
        return found

    def _left_out(self, change: Change) -> str:
        """Keep what is known of an object that cannot be shown: that it exists. Gives its name."""
        try:
            view, revision = objects.view(change.object)
        except Exception:  # noqa: BLE001  not even that
            self._blind = True
            return "<unreadable>"
        self._version = str(revision) if revision else self._version
        if change.type == "DELETED":
            self._known.pop((view.namespace, view.name), None)
        else:
            self._known[view.namespace, view.name] = view.uid
        return f"{view.namespace}/{view.name}" if view.namespace else view.name

    def _observed(self, change: Change) -> Observation:
        view, revision = self._viewer(change.object)
        key = (view.namespace, view.name)
        self._version = str(revision) if revision else self._version
        if change.type == "DELETED":
            self._known.pop(key, None)
            return Vanished(self._triple, view.namespace, view.name, view.uid)
        self._known[key] = view.uid
        return Seen(self._triple, change.object, revision, view)
