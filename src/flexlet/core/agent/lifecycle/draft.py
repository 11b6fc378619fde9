"""A decision in the making: the record as it changes, the deeds and events so far, when to ask again.

Only `issue` begins a deed: never one whose key is under way, nor one that failed a moment ago. What is begun is
under way in the record at once, so whatever is decided next in the same round sees it.
"""

from functools import cached_property
from typing import Any

from msgspec.structs import replace

from flexlet.api.nodepod import NodePod
from flexlet.core.actions import RecordEvent
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.decision import Decision
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.shown import Container, RuntimePod


class Draft:
    """Lives for one decision."""

    def __init__(self, record: PodRecord, setup: NodeSetup, now: float) -> None:
        self.record = record
        self.setup = setup
        self.now = now
        self.is_resizing = False
        """Whether steps of a resize are due, so that no container must start."""
        self._deeds: list[PodDeed] = []
        self._events: list[RecordEvent] = []
        self._wake_at: float | None = None

    @property
    def pod(self) -> NodePod:
        """As its source has it."""
        return self.record.pod

    @cached_property
    def allocated(self) -> NodePod:
        """As the node runs it: with the resources it was granted."""
        return as_allocated(self.record, self.setup)

    @property
    def shown(self) -> RuntimePod:
        """What the runtime has of it."""
        return self.record.shown or RuntimePod(self.record.uid)

    def change(self, **fields: Any) -> None:
        """Replace fields of the record."""
        self.record = replace(self.record, **fields)

    def tell(self, *events: RecordEvent) -> None:
        """Add events."""
        self._events += events

    def wake(self, at: float | None) -> None:
        """Ask again at that time at the latest; what is due already waits for something else to end."""
        if at is not None and at > self.now and (self._wake_at is None or at < self._wake_at):
            self._wake_at = at

    def may(self, key: str) -> bool:
        """Whether a deed of this key could begin now."""
        if key in self.record.underway:
            return False
        retry = self.record.retries.get(key)
        if retry is None or retry.ends_at <= self.now:
            return True
        self.wake(retry.ends_at)
        return False

    def issue(self, deed: PodDeed) -> bool:
        """Begin a deed if it may begin."""
        if not self.may(deed.key):
            return False
        self.begin(deed)
        return True

    def begin(self, deed: PodDeed) -> None:
        """Begin a deed, even beside one of the same key."""
        self._deeds.append(deed)
        self.change(underway={**self.record.underway, deed.key: self.now})

    def is_starting(self, name: str) -> bool:
        """Whether a container is being made."""
        return f"container/{name}" in self.record.underway

    def is_stopping(self, run: Container) -> bool:
        """Whether a run is being stopped."""
        return f"stop/{run.id}" in self.record.underway

    def decision(self) -> Decision:
        """What was decided."""
        return Decision(
            record=self.record, deeds=tuple(self._deeds), events=tuple(self._events), wake_at=self._wake_at
        )
