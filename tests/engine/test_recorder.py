"""Events: told once, counted after, never a flood."""

from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.api import status
from flexlet.core.actions import RecordEvent
from flexlet.engine.recorder import Recorder

ABOUT = {"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": "web", "uid": "u"}


def event(message: str = "m", reason: str = "R", **about: str) -> RecordEvent:
    return RecordEvent(about=ABOUT | about, type="Normal", reason=reason, message=message, component="c")


async def record(cluster: FakeCluster, clock: FakeClock, *events: RecordEvent) -> None:
    recorder = Recorder(cluster, clock)
    for one in events:
        await recorder.record(one)


async def test_an_event_is_written_as_the_api_knows_it() -> None:
    cluster = FakeCluster()
    await record(cluster, FakeClock(), event())
    [written] = cluster.all("events")
    meta = written.pop("metadata")
    assert (meta["namespace"], meta["name"]) == ("default", f"web.{1_000_000 * 10**9:x}")
    assert written == {
        "kind": "Event",
        "apiVersion": "v1",
        "involvedObject": ABOUT,
        "reason": "R",
        "message": "m",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": "1970-01-12T13:46:40Z",
        "lastTimestamp": "1970-01-12T13:46:40Z",
        "source": {"component": "c"},
        "reportingComponent": "c",
    }


async def test_a_node_says_who_speaks() -> None:
    cluster = FakeCluster()
    await Recorder(cluster, FakeClock(), "node-a").record(event())
    [written] = cluster.all("events")
    assert written["source"] == {"component": "c", "host": "node-a"}
    assert (written["reportingComponent"], written["reportingInstance"]) == ("c", "node-a")


async def test_a_repetition_is_a_count() -> None:
    cluster, clock = FakeCluster(), FakeClock()
    recorder = Recorder(cluster, clock)
    await recorder.record(event())
    clock.time += 60
    await recorder.record(event())
    [written] = cluster.all("events")
    assert (written["count"], written["firstTimestamp"], written["lastTimestamp"]) == (
        2,
        "1970-01-12T13:46:40Z",
        "1970-01-12T13:47:40Z",
    )


async def test_different_events_at_the_same_moment_have_different_names() -> None:
    cluster = FakeCluster()
    await record(cluster, FakeClock(), event("one"), event("two"))
    assert sorted(one["message"] for one in cluster.all("events")) == ["one", "two"]


async def test_events_of_cluster_objects_live_in_default() -> None:
    cluster = FakeCluster()
    await record(cluster, FakeClock(), event(kind="Node", namespace="", name="n"))
    assert [key[1] for key in cluster.objects] == ["default"]


async def test_an_event_that_expired_is_written_anew() -> None:
    cluster, clock = FakeCluster(), FakeClock()
    recorder = Recorder(cluster, clock)
    await recorder.record(event())
    cluster.objects.clear()
    await recorder.record(event())
    assert [one["count"] for one in cluster.all("events")] == [1]


async def test_refused_events_hurt_nobody() -> None:
    cluster = FakeCluster()
    cluster.refuse["create"] = status.failure(403, "Forbidden", "namespace is being terminated")
    await record(cluster, FakeClock(), event())
    assert cluster.all("events") == []


async def test_many_messages_of_one_reason_are_combined() -> None:
    """Ten pods of a ReplicaSet are news, the eleventh is a pattern."""
    cluster = FakeCluster()
    await record(cluster, FakeClock(), *(event(f"pod {number}") for number in range(13)))
    messages = [(one["message"], one["count"]) for one in cluster.all("events")]
    assert messages == [
        *((f"pod {number}", 1) for number in range(10)),
        ("(combined from similar events): pod 12", 3),
    ]


async def test_one_object_cannot_flood_the_store() -> None:
    """Twenty-five at once, then one every five minutes; other objects have their own allowance."""
    cluster, clock = FakeCluster(), FakeClock()
    recorder = Recorder(cluster, clock)
    for number in range(40):
        await recorder.record(event(reason=f"R{number}"))
    assert len(cluster.all("events")) == 25
    clock.time += 300
    await recorder.record(event(reason="later"))
    await recorder.record(event(reason="too soon"))
    await recorder.record(event(name="other", uid="v"))
    assert len(cluster.all("events")) == 27


class Returning(FakeClock):
    """A clock on which the server is back after so many pauses."""

    def __init__(self, cluster: FakeCluster, pauses: int) -> None:
        super().__init__()
        self._cluster = cluster
        self._pauses = pauses

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if len(self.slept) == self._pauses:
            self._cluster.refuse.clear()


async def test_whoever_has_the_time_asks_a_server_out_of_reach_again() -> None:
    """The event says when it happened, not when it could be told."""
    cluster = FakeCluster()
    cluster.refuse["create"] = status.failure(503, "ServiceUnavailable", "nobody is there")
    clock = Returning(cluster, 3)
    await Recorder(cluster, clock).record(event(), patiently=True)
    assert clock.slept == [10.0] * 3
    assert [each["firstTimestamp"] for each in cluster.all("events")] == ["1970-01-12T13:46:40Z"]


async def test_patience_ends_after_two_minutes_and_with_a_refusal() -> None:
    cluster = FakeCluster()
    for code, pauses in ((503, 11), (403, 0)):
        clock = FakeClock()
        cluster.refuse["create"] = status.failure(code, "No", "no")
        await Recorder(cluster, clock).record(event(), patiently=True)
        assert (cluster.all("events"), len(clock.slept)) == ([], pauses)
