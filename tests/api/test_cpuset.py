import pytest

from flexlet.api.cpuset import CpuSet
from flexlet.errors import InputError


@pytest.mark.parametrize(
    ("text", "ids", "printed"),
    [
        ("", (), ""),
        ("\n", (), ""),
        ("0", (0,), "0"),
        ("0-3,8", (0, 1, 2, 3, 8), "0-3,8"),
        ("8,0-3\n", (0, 1, 2, 3, 8), "0-3,8"),
        ("1,2,3", (1, 2, 3), "1-3"),
        ("5-5", (5,), "5"),
        ("0-1, 1-2", (0, 1, 2), "0-2"),
        ("65535", (65535,), "65535"),
    ],
)
def test_kernel_lists(text: str, ids: tuple[int, ...], printed: str) -> None:
    """The kernel's list format is read however it is ordered and printed in its shortest form."""
    cpus = CpuSet.parse(text)
    assert (cpus.ids, str(cpus)) == (ids, printed)


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1--2", "0,,1", "1.5", "٣", "0-٣", ","])
def test_text_that_is_no_list(text: str) -> None:
    with pytest.raises(InputError) as caught:
        CpuSet.parse(text)
    assert caught.value.message.endswith(f"in CPU list {text!r}: expected N or N-M")


@pytest.mark.parametrize("text", ["3-1", "0-65536", "99999999999"])
def test_ranges_out_of_bounds(text: str) -> None:
    """A range must go upwards and stay below any id a kernel can have."""
    with pytest.raises(InputError) as caught:
        CpuSet.parse(text)
    expected = f"cannot read {text!r} in CPU list {text!r}: the range is empty or beyond 65535"
    assert caught.value.message == expected


def test_set_algebra() -> None:
    left, right = CpuSet.parse("0-3"), CpuSet.parse("2-5")
    assert (str(left | right), str(left & right), str(left - right)) == ("0-5", "2-3", "0-1")
    assert CpuSet.parse("2").issubset(left)
    assert not right.issubset(left)


def test_collection() -> None:
    cpus = CpuSet.of([3, 1, 1])
    assert (len(cpus), list(cpus), 1 in cpus, 2 in cpus) == (2, [1, 3], True, False)
    assert CpuSet.of([1]) < CpuSet.of([2])
