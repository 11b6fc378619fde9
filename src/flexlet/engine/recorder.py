"""Events for people: written once, counted up when repeated, never a reason for anything else to fail."""

import contextlib
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from flexlet.api.status import ApiError
from flexlet.core.actions import RecordEvent
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import EVENTS, Cluster

_REMEMBERED: Final = 4096


class Recorder:
    """Remembers what it wrote lately, so that a repetition is a count and not one more object."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._written: OrderedDict[tuple[str, ...], tuple[str, int]] = OrderedDict()

    async def record(self, event: RecordEvent) -> None:
        """Write or count up one event; a server that refuses it is ignored."""
        key = (*sorted(event.about.values()), event.type, event.reason, event.message, event.component)
        known = self._written.pop(key, None)
        name, count = known or (self._name(event), 0)
        with contextlib.suppress(ApiError):
            if known is None:
                await self._cluster.create(EVENTS, self._namespace(event), self._body(event, name))
            else:
                patch = {"count": count + 1, "lastTimestamp": self._stamp()}
                await self._cluster.patch(EVENTS, self._namespace(event), name, patch)
            self._written[key] = (name, count + 1)
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _namespace(self, event: RecordEvent) -> str:
        return event.about.get("namespace") or "default"

    def _name(self, event: RecordEvent) -> str:
        return f"{event.about['name']}.{int(self._clock.now() * 1e9):x}"

    def _stamp(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _body(self, event: RecordEvent, name: str) -> dict[str, Any]:
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": self._namespace(event)},
            "involvedObject": dict(event.about),
            "reason": event.reason,
            "message": event.message,
            "type": event.type,
            "count": 1,
            "firstTimestamp": self._stamp(),
            "lastTimestamp": self._stamp(),
            "source": {"component": event.component},
            "reportingComponent": event.component,
        }


def about(raw: bytes) -> dict[str, str]:
    """The reference an event needs, from an object's JSON."""
    value = msgspec.json.decode(raw)
    meta = value["metadata"]
    found = {
        "kind": value.get("kind", ""),
        "apiVersion": value.get("apiVersion", ""),
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta.get("uid", ""),
    }
    return {key: text for key, text in found.items() if text}
