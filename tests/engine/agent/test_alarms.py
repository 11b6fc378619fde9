"""When to look at which pod again."""

from hypothesis import given
from hypothesis import strategies as st

from flexlet.engine.agent.alarms import Alarms

SETTINGS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 9)), max_size=20)


def test_the_last_word_about_a_subject_counts_and_an_alarm_rings_once() -> None:
    alarms = Alarms()
    for subject, at in (("a", 5.0), ("b", 3.0), ("a", 1.0), ("c", 2.0), ("c", None)):
        alarms.ring(subject, at)
    assert (alarms.next(), alarms.due(0.5), alarms.due(3.0), alarms.due(9.0), alarms.next()) == (
        1.0,
        set(),
        {"a", "b"},
        set(),
        None,
    )


@given(SETTINGS, st.integers(0, 9))
def test_alarms_are_a_table_of_the_last_settings(settings: list[tuple[str, int | None]], now: int) -> None:
    alarms, table = Alarms(), dict[str, int]()
    for subject, at in settings:
        alarms.ring(subject, at)
        table.pop(subject, None)
        if at is not None:
            table[subject] = at
    assert alarms.next() == min(table.values(), default=None)
    assert alarms.due(now) == {subject for subject, at in table.items() if at <= now}
    assert alarms.next() == min((at for at in table.values() if at > now), default=None)
