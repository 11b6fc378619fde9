"""Parts of a host: the native column of balloon.md §10, and that all parts are never more than there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pods import amounts

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.core.machine.allocatable import Reservation, allocatable, for_pods
from flexlet.core.machine.sharing import Share, divided, parse
from flexlet.errors import ConfigError

HOST = amounts("64,256Gi,pods=110,hugepages-2Mi=0,example.com/gpu=4")
RESERVE = Reservation(kube=amounts("3,10Gi"), system=amounts("1,5Gi"), eviction_hard={"memory.available": "1Gi"})


@pytest.mark.parametrize(("of", "each"), [(2, "30,120Gi"), (4, "15,60Gi"), (8, "7500m,30Gi")])
def test_the_host_reserves_once_and_shares_the_rest(of: int, each: str) -> None:
    """What agents keep for themselves and for eviction is the host's, whoever looks; 4 CPUs and 16Gi here."""
    for index in range(1, of + 1):
        reservation = Reservation(
            kube=RESERVE.kube, system=RESERVE.system, eviction_hard=RESERVE.eviction_hard, share=Share(index, of)
        )
        left = amounts("pods=110,hugepages-2Mi=0,example.com/gpu=4")
        assert allocatable(HOST, reservation) == amounts(each) | left
        assert for_pods(HOST, reservation)["memory"].value == 241 * GIB // of


def test_huge_pages_are_whole_pages() -> None:
    found = divided(amounts("1,hugepages-1Gi=5Gi,hugepages-2Mi=6Mi,ephemeral-storage=10,pid=7"), Share(1, 2))
    assert found == amounts("500m,hugepages-1Gi=2Gi,hugepages-2Mi=2Mi,ephemeral-storage=5,pid=3")


@given(
    st.integers(1, 32),
    st.dictionaries(
        st.sampled_from(["cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "pid"]), st.integers(0, 1 << 40)
    ),
)
def test_all_parts_together_are_no_more_than_the_whole(of: int, given_amounts: dict[str, int]) -> None:
    make = {"cpu": Quantity.of_milli}
    whole = {name: make.get(name, Quantity.of_bytes)(number) for name, number in given_amounts.items()}
    parts = [divided(whole, Share(index, of)) for index in range(1, of + 1)]
    for name, amount in whole.items():
        assert sum(part[name].nano for part in parts) <= amount.nano


def test_reading() -> None:
    assert parse("2/4") == Share(2, 4)
    for text in ("", "2", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/2", "1/5000"):
        with pytest.raises(ConfigError, match="write i/N"):
            parse(text)
