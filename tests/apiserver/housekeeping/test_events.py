"""How long events live."""

from typing import Any

from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.api import age
from flexlet.apiserver.housekeeping.events import expire_once, last_seen
from flexlet.apiserver.housekeeping.isolation import Isolation

NOW = 1_800_000_000.0


def event(name: str, **fields: Any) -> dict[str, Any]:
    created = age.format_seconds(NOW - 7200)
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": created},
        **fields,
    }


async def test_events_go_an_hour_after_they_were_last_seen() -> None:
    cluster = FakeCluster()
    cluster.put("events", event("old"))
    cluster.put("events", event("repeated", lastTimestamp=age.format_seconds(NOW - 60)))
    cluster.put("events", event("series", series={"lastObservedTime": age.format_micro(NOW - 3599)}))
    assert await expire_once(cluster, NOW, Isolation("events", FakeClock())) == 1
    assert sorted(name for _, _, name in cluster.objects) == ["repeated", "series"]


def test_unreadable_times_count_as_never() -> None:
    assert last_seen({"metadata": {}, "lastTimestamp": "yesterday"}) == 0.0
