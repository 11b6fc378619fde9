"""Shares of a host: the table of balloon.md §10, and that they never exceed it."""

from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.units import GIB, MIB
from flexlet.core.nodesize import shares, sizes
from flexlet.core.nodesize.shares import Ledger, Share, Step

HOST = {"cpu": 64_000, "memory": 256 * GIB}
RESERVE = {"cpu": 4_000, "memory": 16 * GIB}
ALLOCATABLE = {"cpu": 63_500, "memory": 255 * GIB - 100 * MIB}


def test_the_table_of_the_specification() -> None:
    table = {2: (30_000, 120, 33_500), 4: (15_000, 60, 48_500), 8: (7_500, 30, 56_000)}
    for count, (cpu, gib, balloon) in table.items():
        (share, *rest) = shares.even(HOST, RESERVE, [1] * count)
        assert share == {"cpu": cpu, "memory": gib * GIB}
        assert rest == [share] * (count - 1)
        assert shares.balloon(ALLOCATABLE, share) == {"cpu": balloon, "memory": ALLOCATABLE["memory"] - gib * GIB}


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_weights_share_no_more_than_there_is(weights: list[int]) -> None:
    total = sizes.total(shares.even(HOST, RESERVE, weights))
    whole = sizes.less(HOST, RESERVE)
    assert all(whole[r] - len(weights) < total[r] <= whole[r] for r in whole)


def test_a_claim_gets_what_is_free_and_a_dead_agent_keeps_its_share_until_its_lease_ends() -> None:
    ledger = Ledger(host=HOST, reserve=RESERVE)
    half = {"cpu": 30_000, "memory": 120 * GIB}
    ledger, missing = shares.claim(ledger, "a", half, until=40.0, now=0.0)
    assert missing == sizes.NOTHING
    more = {"cpu": 40_000, "memory": 100 * GIB}
    ledger, missing = shares.claim(ledger, "b", more, until=100.0, now=10.0)
    assert missing == {"cpu": 10_000, "memory": 0}
    ledger, missing = shares.claim(ledger, "b", more, until=100.0, now=50.0)
    assert missing == sizes.NOTHING
    assert ledger.shares == {"b": Share(more, 100.0)}


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 70_000), st.integers(0, 300)), max_size=20))
def test_no_history_of_claims_gives_more_than_the_host_has(claims: list[tuple[str, int, int]]) -> None:
    ledger = Ledger(host=HOST, reserve=RESERVE)
    for agent, cpu, gib in claims:
        ledger, _ = shares.claim(ledger, agent, {"cpu": cpu, "memory": gib * GIB}, until=1.0, now=0.0)
        assert all(amount >= 0 for amount in ledger.free(0.0).values())


def test_a_move_waits_for_the_giver() -> None:
    old, low, high = ({"cpu": cpu, "memory": 60 * GIB} for cpu in (15_000, 10_000, 20_000))
    goal = {"a": low, "b": high}
    assert shares.move({"a": (old, old), "b": (old, old)}, "a", "b", goal) == Step("Inflate", "a", low)
    assert shares.move({"a": (low, old), "b": (old, old)}, "a", "b", goal) is None
    assert shares.move({"a": (low, low), "b": (old, old)}, "a", "b", goal) == Step("Deflate", "b", high)
    assert shares.move({"a": (low, low), "b": (high, old)}, "a", "b", goal) is None
