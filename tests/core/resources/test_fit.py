import pytest
from tests.pods import amounts

from flexlet.core.resources.fit import Shortage, shortages

NODE = amounts("4,8Gi,pods=3,example.com/gpu=1")


@pytest.mark.parametrize(
    ("requests", "used", "missing"),
    [
        ("1,1Gi", {}, []),
        ("4,8Gi", {}, []),
        ("1", {"cpu": 3000}, []),
        ("1", {"cpu": 3001}, [Shortage("cpu", 1000, 3001, 4000)]),
        ("5,9Gi", {}, [Shortage("cpu", 5000, 0, 4000), Shortage("memory", 9 << 30, 0, 8 << 30)]),
        ("0", {"cpu": 9000}, []),
        ("example.com/gpu=1", {"example.com/gpu": 1}, [Shortage("example.com/gpu", 1, 1, 1)]),
        ("example.com/fpga=1", {}, [Shortage("example.com/fpga", 1, 0, 0)]),
        ("example.com/fpga=0", {}, []),
    ],
)
def test_fit(requests: str, used: dict[str, int], missing: list[Shortage]) -> None:
    """A positive request must not exceed what is left; zero fits even where everything is overcommitted."""
    assert shortages(amounts(requests), NODE, used) == missing


def test_pods_are_counted() -> None:
    assert shortages({}, NODE, {}, other_pods=2) == []
    assert shortages({}, NODE, {}, other_pods=3) == [Shortage("pods", 1, 3, 3)]


def test_words_and_permanence() -> None:
    """A shortage that an empty node would still have cannot be waited out."""
    busy, never = Shortage("cpu", 1000, 3001, 4000), Shortage("cpu", 5000, 0, 4000)
    assert (busy.reason, busy.is_permanent) == ("Insufficient cpu", False)
    assert (never.reason, never.is_permanent) == ("Insufficient cpu", True)
    assert Shortage("pods", 1, 3, 3).reason == "Too many pods"
