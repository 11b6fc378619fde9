"""The host's ledger: who gets what, and that no history gives away more than there is."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import decode
from flexlet.api.units import GIB
from flexlet.core.machine.sharing import Share as Part
from flexlet.core.nodesize.shares import Share
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.shares import ledger
from flexlet.core.shares.ledger import LEASE_S, Claim
from flexlet.errors import InputError

HOST = {"cpu": 60_000, "memory": 240 * GIB}
QUARTER = Part(1, 4)


def size(cpu: int, gib: int = 60) -> Amounts:
    return {"cpu": cpu * 1000, "memory": gib * GIB}


def claim(agent: str, wanted: Amounts) -> Claim:
    return Claim(agent=agent, whole=HOST, wanted=wanted)


def test_an_agent_begins_with_its_part_or_with_what_it_had() -> None:
    first = ledger.begun(None, "a", HOST, QUARTER, now=0.0)
    assert first == claim("a", size(15))
    raw, granted = ledger.claimed(None, claim("a", size(20)), now=0.0)
    assert granted == size(20)
    assert ledger.begun(raw, "a", HOST, QUARTER, now=LEASE_S - 1) == claim("a", size(20))
    assert ledger.begun(raw, "a", HOST, QUARTER, now=LEASE_S) == claim("a", size(15))
    assert ledger.begun(raw, "b", HOST, QUARTER, now=0.0) == claim("b", size(15))


def test_what_pods_have_they_have() -> None:
    assert ledger.wanted(None, {}, HOST, QUARTER) == size(15)
    assert ledger.wanted(size(10, 20), {"cpu": 12_000, "memory": GIB}, HOST, QUARTER) == size(12, 20)


def test_size_moves_in_either_order() -> None:
    """Who wants more first waits; who gives first is followed at once."""
    raw: bytes | None = None
    for agent in "abcd":
        raw, granted = ledger.claimed(raw, claim(agent, size(15)), now=0.0)
        assert granted == size(15)
    raw, granted = ledger.claimed(raw, claim("b", size(20)), now=1.0)
    assert granted == size(15)
    raw, granted = ledger.claimed(raw, claim("a", size(10)), now=2.0)
    assert granted == size(10)
    raw, granted = ledger.claimed(raw, claim("b", size(20)), now=3.0)
    assert granted == size(20)


def test_a_dead_agent_keeps_its_share_until_its_lease_ends() -> None:
    raw, _ = ledger.claimed(None, claim("dead", size(40)), now=0.0)
    raw, granted = ledger.claimed(raw, claim("b", size(60)), now=LEASE_S - 1)
    assert granted == size(20)
    raw, granted = ledger.claimed(raw, claim("b", size(60)), now=LEASE_S)
    assert granted == size(60)
    assert decode.from_json(raw, dict[str, Share]) == {"b": Share(size(60), 2 * LEASE_S)}


def test_a_spoiled_ledger_is_nobodys() -> None:
    with pytest.raises(InputError):
        ledger.claimed(b"{", claim("a", size(1)), now=0.0)


class Step(NamedTuple):
    """An agent asks for so much, after a while."""

    agent: str
    cpu: int
    gib: int
    after_s: float


steps = st.builds(
    Step,
    st.sampled_from("abcd"),
    st.integers(0, 80),
    st.integers(0, 300),
    st.sampled_from([0.0, 1.0, LEASE_S / 2, LEASE_S * 2]),
)


@given(st.lists(steps, max_size=40))
def test_no_history_gives_away_more_than_the_host_has(history: list[Step]) -> None:
    raw: bytes | None = None
    now = 0.0
    held: dict[str, tuple[Amounts, float]] = {}
    for step in history:
        now += step.after_s
        raw, granted = ledger.claimed(raw, claim(step.agent, size(step.cpu, step.gib)), now)
        held[step.agent] = granted, now + LEASE_S
        alive = [share for share, until in held.values() if until > now]
        assert all(sum(share[name] for share in alive) <= HOST[name] for name in HOST)
        assert all(0 <= granted[name] <= size(step.cpu, step.gib)[name] for name in HOST)
