import pytest

from flexlet.core.cgroups import cpu

# milliCPU, shares, linear weight, runtime weight, quota, quota with systemd, read back from the pod's weight
TABLE = [
    (0, 2, 1, 1, 0, 0, 2),
    (1, 2, 1, 1, 1000, 1000, 2),
    (2, 2, 1, 1, 1000, 1000, 2),
    (3, 3, 1, 2, 1000, 1000, 2),
    (10, 10, 1, 4, 1000, 1000, 2),
    (15, 15, 1, 5, 1500, 2000, 2),
    (20, 20, 1, 6, 2000, 2000, 2),
    (25, 25, 1, 6, 2500, 3000, 2),
    (50, 51, 2, 11, 5000, 5000, 28),
    (79, 80, 3, 15, 7900, 8000, 53),
    (100, 102, 4, 17, 10000, 10000, 79),
    (150, 153, 6, 24, 15000, 15000, 130),
    (200, 204, 8, 29, 20000, 20000, 181),
    (250, 256, 10, 35, 25000, 25000, 232),
    (300, 307, 12, 40, 30000, 30000, 284),
    (333, 340, 13, 43, 33300, 34000, 309),
    (500, 512, 20, 59, 50000, 50000, 489),
    (1000, 1024, 39, 100, 100000, 100000, 975),
    (1500, 1536, 59, 138, 150000, 150000, 1487),
    (2000, 2048, 79, 174, 200000, 200000, 1999),
    (4000, 4096, 157, 303, 400000, 400000, 3996),
    (8000, 8192, 313, 532, 800000, 800000, 7990),
    (16000, 16384, 625, 942, 1600000, 1600000, 15978),
    (64000, 65536, 2500, 3023, 6400000, 6400000, 63982),
    (256000, 262144, 10000, 10000, 25600000, 25600000, 256000),
    (300000, 262144, 10000, 10000, 30000000, 30000000, 256000),
]


@pytest.mark.parametrize("row", TABLE)
def test_conversions(row: tuple[int, ...]) -> None:
    """The table of upstream's conversions, both weight formulas included."""
    milli = row[0]
    shares = cpu.shares(milli)
    weight = cpu.linear_weight(shares)
    quota = cpu.quota(milli)
    read_back = cpu.milli_of_shares(cpu.shares_of_weight(weight))
    assert row == (
        milli,
        shares,
        weight,
        cpu.runtime_weight(shares),
        quota,
        cpu.systemd_quota(quota),
        read_back,
    )


@pytest.mark.parametrize(("milli", "quota"), [(10, 1000), (25, 1000), (100, 1000), (333, 3330)])
def test_a_short_period_makes_the_least_quota_large(milli: int, quota: int) -> None:
    """With a period of 10 ms the least quota is 100m."""
    assert cpu.quota(milli, 10_000) == quota


@pytest.mark.parametrize(("quota", "milli"), [(1000, 10), (1500, 15), (33300, 333), (12345, 123), (-1, 0)])
def test_quota_read_back(quota: int, milli: int) -> None:
    assert cpu.milli_of_quota(quota) == milli


@pytest.mark.parametrize(("shares", "milli"), [(0, 0), (1, 0), (2, 2), (102, 100), (1024, 1000)])
def test_shares_read_back(shares: int, milli: int) -> None:
    assert cpu.milli_of_shares(shares) == milli


def test_no_shares_leave_the_weight_alone() -> None:
    assert cpu.runtime_weight(0) == 0


@pytest.mark.parametrize(
    ("quota", "period", "text", "read"),
    [
        (50000, 100000, "50000 100000", (50000, 100000)),
        (0, 100000, "max 100000", (-1, 100000)),
        (-1, 10000, "max 10000", (-1, 10000)),
    ],
)
def test_cpu_max(quota: int, period: int, text: str, read: tuple[int, int]) -> None:
    """No quota is the word max, which reads back as -1."""
    assert (cpu.max_text(quota, period), cpu.parse_max(text + "\n")) == (text, read)
