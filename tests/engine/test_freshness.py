"""A picture is never replaced by an older one."""

from flexlet.core.actions import LookUp
from flexlet.core.observations import Absent, Failed, Seen, Vanished
from flexlet.core.views.objects import ObjectView
from flexlet.engine.freshness import Freshness

PODS = ("", "v1", "pods")


def seen(revision: int, uid: str = "u") -> Seen:
    return Seen(PODS, b"", revision, ObjectView(uid=uid, name="a"))


def test_news_from_a_feed_older_than_an_answer_is_held_back() -> None:
    freshness = Freshness({PODS})
    freshness.take_off()
    assert freshness.land([seen(5)]) == [seen(5)]
    assert not freshness.admits(seen(4))
    assert freshness.admits(seen(4, uid="other"))
    assert freshness.admits(seen(5))
    assert freshness.admits(seen(6))


def test_an_answer_older_than_what_a_feed_showed_meanwhile_is_dropped() -> None:
    freshness = Freshness({PODS})
    freshness.take_off()
    assert freshness.admits(seen(7))
    assert freshness.land([seen(6)]) == []
    assert freshness.admits(seen(8))


def test_an_object_that_vanished_during_the_flight_stays_gone() -> None:
    freshness = Freshness({PODS})
    freshness.take_off()
    assert freshness.admits(Vanished(PODS, "default", "a", "u"))
    assert freshness.land([seen(9)]) == []


def test_a_deletion_is_always_news() -> None:
    freshness = Freshness({PODS})
    freshness.take_off()
    freshness.land([seen(9)])
    assert freshness.admits(Vanished(PODS, "default", "a", "u"))


def test_answers_about_what_no_feed_follows_are_not_waited_for() -> None:
    freshness = Freshness(set())
    freshness.take_off()
    freshness.land([seen(9)])
    assert freshness.admits(seen(1))


def test_what_carries_no_version_always_passes() -> None:
    freshness = Freshness({PODS})
    refusal = Failed(LookUp(ref=PODS, name="a"), 500, "", "")
    nothing = Absent(PODS, "default", "a")
    freshness.take_off()
    assert freshness.admits(Seen(PODS, b""))
    assert freshness.land([refusal, nothing, seen(0)]) == [refusal, nothing, seen(0)]
