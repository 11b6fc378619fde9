"""Events for people: written once, counted up when repeated, never a reason for anything else to fail.

An object may be the subject of a flood ("Created pod: ..." ten thousand times), and events share a store with
what matters. So, as client-go does it: from the tenth different message of one reason about one object on, they
are counted under one event, and an object gets twenty-five events at once and then one every five minutes.
Whoever can wait asks a server that is out of reach again, twelve times in two minutes.
"""

from collections import OrderedDict
from typing import Any, Final, Generic, TypeVar

import msgspec

from flexlet.api import age
from flexlet.api.status import ApiError, NotFound
from flexlet.core.actions import RecordEvent
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import EVENTS, Cluster

_REMEMBERED: Final = 4096
_BURST: Final = 25
_REFILL_S: Final = 300.0
_SIMILAR: Final = 10
_TRIES: Final = 12
_AGAIN_S: Final = 10.0
_UNAVAILABLE: Final = 503
_COMBINED: Final = "(combined from similar events): "

_K = TypeVar("_K")
_T = TypeVar("_T")


class _Recent(OrderedDict[_K, _T], Generic[_K, _T]):
    """Remembers the keys used lately."""

    def keep(self, key: _K, value: _T) -> None:
        self[key] = value
        self.move_to_end(key)
        while len(self) > _REMEMBERED:
            self.popitem(last=False)


class Recorder:
    """Remembers what it wrote lately, so that a repetition is a count and not one more object."""

    def __init__(self, cluster: Cluster, clock: Clock, host: str = "") -> None:
        """`host` is the node that speaks, if one does."""
        self._cluster = cluster
        self._host = host
        self._clock = clock
        self._written: _Recent[tuple[str, ...], tuple[str, int]] = _Recent()
        self._messages: _Recent[tuple[str, ...], set[str]] = _Recent()
        self._tokens: _Recent[tuple[str, ...], tuple[float, float]] = _Recent()
        self._stamp = 0

    async def record(self, event: RecordEvent, *, patiently: bool = False) -> None:
        """Write or count up one event; a server that refuses it is ignored.

        A server that is out of reach is asked again if the caller has the time.
        """
        subject = (*(event.about.get(key, "") for key in ("kind", "namespace", "name", "uid")), event.component)
        if not self._may_speak(subject):
            return
        kind = (*subject, event.type, event.reason)
        key = (*kind, event.about.get("fieldPath", ""), event.message)
        if self._is_one_of_many(kind, event.message):
            event = msgspec.structs.replace(event, message=_COMBINED + event.message)
            key = (*kind, _COMBINED)
        at = self._clock.now()
        tries = _TRIES if patiently else 1
        while not await self._arrives(key, event, at) and (tries := tries - 1):
            await self._clock.sleep(_AGAIN_S)

    async def _arrives(self, key: tuple[str, ...], event: RecordEvent, at: float) -> bool:
        """Whether the server has heard it, whatever it thinks of it."""
        try:
            await self._write(key, event, at)
        except ApiError as error:
            self._written.pop(key, None)
            return error.code != _UNAVAILABLE
        return True

    def _may_speak(self, subject: tuple[str, ...]) -> bool:
        """A token bucket per subject."""
        now = self._clock.monotonic()
        tokens, then = self._tokens.get(subject, (float(_BURST), now))
        tokens = min(float(_BURST), tokens + (now - then) / _REFILL_S)
        allowed = tokens >= 1
        self._tokens.keep(subject, (tokens - allowed, now))
        return allowed

    def _is_one_of_many(self, kind: tuple[str, ...], message: str) -> bool:
        """Whether this is a new message of a reason that has had many about this object."""
        messages = self._messages.get(kind, set())
        if message not in messages and len(messages) == _SIMILAR:
            return True
        self._messages.keep(kind, messages | {message})
        return False

    async def _write(self, key: tuple[str, ...], event: RecordEvent, at: float) -> None:
        if key in self._written and await self._count_up(key, event, at):
            return
        name = self._name(event)
        await self._cluster.create(EVENTS, _namespace(event), self._body(event, name, at))
        self._written.keep(key, (name, 1))

    async def _count_up(self, key: tuple[str, ...], event: RecordEvent, at: float) -> bool:
        """False if the event has expired on the server."""
        name, count = self._written[key]
        patch = {"count": count + 1, "lastTimestamp": age.format_seconds(at), "message": event.message}
        try:
            await self._cluster.patch(EVENTS, _namespace(event), name, patch)
        except NotFound:
            return False
        self._written.keep(key, (name, count + 1))
        return True

    def _name(self, event: RecordEvent) -> str:
        """Unique even when the clock has not moved."""
        self._stamp = max(self._stamp + 1, int(self._clock.now() * 1e9))
        return f"{event.about['name']}.{self._stamp:x}"

    def _body(self, event: RecordEvent, name: str, at: float) -> dict[str, Any]:
        when = age.format_seconds(at)
        host = {"host": self._host} if self._host else {}
        instance = {"reportingInstance": self._host} if self._host else {}
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": _namespace(event)},
            "involvedObject": dict(event.about),
            "reason": event.reason,
            "message": event.message,
            "type": event.type,
            "count": 1,
            "firstTimestamp": when,
            "lastTimestamp": when,
            "source": {"component": event.component, **host},
            "reportingComponent": event.component,
            **instance,
        }


def _namespace(event: RecordEvent) -> str:
    return event.about.get("namespace") or "default"
