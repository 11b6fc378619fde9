"""When keys are due, and how long refused ones are held back."""

from hypothesis import given
from hypothesis import strategies as st

from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.faults import LookFault


def test_a_key_is_due_once_per_round_in_the_order_of_changes() -> None:
    queue = WorkQueue()
    for key in "abab":
        queue.add(key)
    assert (queue.take(0.0), queue.take(0.0), queue.wake_at) == (["a", "b"], [], None)


def test_alarms_ring_when_they_are_set_for() -> None:
    queue = WorkQueue()
    queue.add_at("a", 10.0)
    queue.add_at("b", 5.0)
    assert (queue.take(4.0), queue.wake_at) == ([], 5.0)
    assert (queue.take(5.0), queue.wake_at) == (["b"], 10.0)
    assert (queue.take(99.0), queue.wake_at) == (["a"], None)


def test_only_the_earliest_alarm_of_a_key_counts() -> None:
    queue = WorkQueue()
    queue.add_at("a", 5.0)
    queue.add_at("a", 9.0)
    queue.add_at("a", 3.0)
    assert queue.take(3.0) == ["a"]
    assert (queue.take(9.0), queue.wake_at) == ([], None)


def test_a_refused_key_is_looked_at_at_once_but_held_longer_each_time() -> None:
    queue = WorkQueue()
    holds = []
    now = 0.0
    for _ in range(12):
        queue.refused("a")
        assert queue.take(now) == ["a"]
        assert queue.held("a")
        assert queue.wake_at is not None
        holds.append(round(queue.wake_at - now, 3))
        now = queue.wake_at
        assert queue.take(now) == ["a"]
        assert not queue.held("a")
    assert holds == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]


def test_forgiveness_ends_a_hold_and_its_history() -> None:
    queue = WorkQueue()
    for _ in range(5):
        queue.refused("a")
        queue.take(0.0)
    queue.forgive("a")
    assert not queue.held("a")
    queue.refused("a")
    queue.take(0.0)
    assert queue.wake_at == 0.1


def test_a_key_that_is_gone_is_not_due() -> None:
    queue = WorkQueue()
    queue.add("a")
    queue.add_at("a", 1.0)
    queue.refused("a")
    queue.drop("a")
    assert (queue.take(5.0), queue.wake_at) == ([], None)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 100))))
def test_no_alarm_is_lost_and_none_rings_early(alarms: list[tuple[str, float]]) -> None:
    queue = WorkQueue()
    for key, when in alarms:
        queue.add_at(key, when)
    earliest = {key: min(when for other, when in alarms if other == key) for key, _ in alarms}
    rung: dict[str, float] = {}
    while queue.wake_at is not None:
        now = queue.wake_at
        for key in queue.take(now):
            rung.setdefault(key, now)
    assert rung == earliest


def test_a_look_that_fails_keeps_no_other_waiting() -> None:
    """It is made again ever later, and is told of by name, until it goes well or the key is gone."""
    queue, found = WorkQueue(), []
    error = KeyError("spec")

    def fail() -> list[str]:
        raise error

    now, waits = 0.0, []
    queue.add("bad")
    queue.add("good")
    for _ in range(12):
        for key in queue.take(now):
            found += queue.attempt(key, fail if key == "bad" else lambda: ["done"], f"default/{key}")
        assert queue.wake_at is not None
        waits.append(queue.wake_at - now)
        now = queue.wake_at
    assert (found, waits) == (["done"], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
    assert queue.take_faults() == (LookFault("default/bad", error),) * 12
    assert queue.take(now) == ["bad"]
    assert queue.attempt("bad", lambda: ["well"], "default/bad") == ["well"]
    assert queue.take_faults() == (LookFault("default/bad", None),)
    queue.attempt("bad", fail)
    queue.drop("bad")
    assert queue.take_faults() == (LookFault("bad", error), LookFault("bad", None))
    assert (queue.wake_at, queue.take_faults()) == (None, ())
