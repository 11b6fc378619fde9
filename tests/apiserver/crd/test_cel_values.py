"""JSON values as CEL sees them: what is too large for its type is a fault of the value, not of the server."""

import pytest

from flexlet.apiserver.crd.cel.values import CelError, MapList, SetList, duration, equal


@pytest.mark.parametrize("text", ["1" * 400 + "s", "1" * 400 + "h" + "1s", "9223372037s", "-9999999h"])
def test_a_duration_that_int64_does_not_hold_is_refused(text: str) -> None:
    with pytest.raises(CelError) as error:
        duration(text)
    assert str(error.value) == f'time: invalid duration "{text}"'


def test_the_longest_duration() -> None:
    assert duration("2562047h").nanos == 2562047 * 3600 * 10**9


def _map_list(count: int, *, backwards: bool) -> MapList:
    found = MapList([{"name": f"n{at}", "value": at} for at in range(count)][:: -1 if backwards else 1])
    found.keys = ("name",)
    return found


def test_long_maps_and_sets_are_compared_in_one_pass() -> None:
    """Compared each with each, these take a minute."""
    assert equal(_map_list(15_000, backwards=False), _map_list(15_000, backwards=True))
    changed = _map_list(15_000, backwards=True)
    changed[0] = {**changed[0], "value": -1}
    assert not equal(_map_list(15_000, backwards=False), changed)
    assert equal(SetList(map(str, range(20_000))), SetList(map(str, reversed(range(20_000)))))
    assert not equal(SetList([1, 2]), SetList([True, 2]))
    assert equal(SetList([{"a": 1}, [2]]), SetList([[2], {"a": 1}]))
