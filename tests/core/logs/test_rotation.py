"""Which rotated logs stay."""

from hypothesis import given
from hypothesis import strategies as st

from flexlet.core.logs.rotation import Tidying, tidy


def test_leftovers_go_first_then_the_oldest_and_the_rest_is_compressed() -> None:
    """Five files: the live one, the one rotated now, and three older ones."""
    rotated = ["l.1.gz", "l.2.gz", "l.3", "l.3.gz", "l.4", "l.5", "l.6.tmp"]
    assert tidy(rotated, 5) == Tidying(
        remove=("l.3", "l.6.tmp", "l.1.gz", "l.2.gz"),
        compress=("l.4", "l.5"),
    )


def test_nothing_is_kept_beside_two_files() -> None:
    assert tidy(["l.1", "l.2.gz"], 2) == Tidying(remove=("l.1", "l.2.gz"))


names = st.lists(st.sampled_from([f"l.{n}{end}" for n in range(5) for end in ("", ".gz", ".tmp")]), unique=True)


@given(names, st.integers(2, 6))
def test_what_stays_is_the_newest_whole_files_and_few_enough(rotated: list[str], most: int) -> None:
    tidying = tidy(rotated, most)
    stays = [name for name in rotated if name not in tidying.remove]
    assert len(stays) <= most - 2
    assert not [name for name in stays if name.endswith(".tmp") or f"{name}.gz" in rotated]
    assert set(tidying.compress) == {name for name in stays if not name.endswith(".gz")}
    gone = {n for n in tidying.remove if not n.endswith(".tmp") and f"{n}.gz" not in rotated}
    assert all(old < new for old in gone for new in stays)
