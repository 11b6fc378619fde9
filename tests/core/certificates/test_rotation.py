"""When to ask, wait and give up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flexlet.core.certificates import rotation, wanted
from flexlet.core.certificates.rotation import Abandon, Ask, Asked, Await, Rest, State
from flexlet.core.certificates.wanted import Held

CLIENT = wanted.client("n1")
OTHER = wanted.client("n2")
HELD = Held(begins=1000, ends=2000, common_name=CLIENT.common_name, organizations=CLIENT.organizations)
ASKED = Asked(name="csr-1", uid="u", wanted=CLIENT, until=5000)


@pytest.mark.parametrize(
    ("state", "now", "step"),
    [
        (State(wanted=None), 1500, Rest(None)),
        (State(wanted=CLIENT), 1500, Ask(CLIENT)),
        (State(wanted=CLIENT, held=HELD), 1500, Rest(1700)),
        (State(wanted=CLIENT, held=HELD), 1700, Ask(CLIENT)),
        (State(wanted=CLIENT, held=HELD, fraction=0.5), 1700, Rest(1800)),
        (State(wanted=OTHER, held=HELD), 1500, Ask(OTHER)),
        (State(wanted=CLIENT, held=HELD), 9000, Ask(CLIENT)),
        (State(wanted=CLIENT, asked=ASKED), 4999, Await(ASKED)),
        (State(wanted=CLIENT, asked=ASKED), 5000, Abandon(ASKED, late=True)),
        (State(wanted=OTHER, asked=ASKED), 4000, Abandon(ASKED, late=False)),
        (State(wanted=None, asked=ASKED), 4000, Abandon(ASKED, late=False)),
        (State(wanted=CLIENT, failures=1, failed_at=1500), 1500, Rest(1502)),
        (State(wanted=CLIENT, failures=1, failed_at=1500), 1502, Ask(CLIENT)),
        (State(wanted=CLIENT, held=HELD, failures=3, failed_at=1750), 1750, Rest(1758)),
    ],
)
def test_the_next_step(state: State, now: float, step: rotation.Step) -> None:
    assert rotation.decide(state, now) == step


def test_pauses_double_up_to_half_a_minute() -> None:
    assert [rotation.pause(failures) for failures in (1, 2, 3, 4, 5, 6, 2000)] == [2, 4, 8, 16, 32, 32, 32]


def test_a_certificate_is_valid_to_its_last_second() -> None:
    assert [rotation.is_valid(HELD, now) for now in (1000, 2000, 2001)] == [True, True, False]
    assert not rotation.is_valid(None, 0)


@given(
    st.floats(0, 2e9),
    st.floats(600, 4e8),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 100),
    st.floats(0, 3e9),
)
def test_renewal_is_in_time_and_steps_lead_on(
    begins: float, life: float, fraction: float, failures: int, now: float
) -> None:
    """Between 70 and 90 % of the life; whoever rests does so until there is something to do."""
    held = replace(HELD, begins=begins, ends=begins + life)
    due = rotation.renewal(held, fraction)
    assert 0.6999 <= (due - begins) / life <= 0.9001
    state = State(wanted=CLIENT, held=held, fraction=fraction, failures=failures, failed_at=now)
    match rotation.decide(state, now):
        case Rest(until):
            assert until is not None
            assert until > now
            assert rotation.decide(state, until) == Ask(CLIENT)
        case step:
            assert step == Ask(CLIENT)
