"""Readings: what follows from the files."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.core.stats.node import FILES, MEMINFO, NOW, cgroup

from flexlet.core.stats import procfiles, readings
from flexlet.core.stats.readings import CgroupReading


def test_a_cgroup_that_is_gone_has_no_reading() -> None:
    assert readings.read_cgroup({}, NOW) is None


def test_the_working_set_is_usage_without_inactive_files() -> None:
    assert cgroup().working_set == 10485760 - 2097152


@given(st.integers(0, 10), st.integers(0, 10))
def test_the_working_set_is_never_negative(usage: int, inactive: int) -> None:
    reading = CgroupReading(time=NOW, memory_usage=usage, memory={"inactive_file": inactive})
    assert reading.working_set == max(0, usage - inactive)


def test_what_is_not_there_is_unknown() -> None:
    reading = readings.read_cgroup({"cpu.stat": "usage_usec 1\n"}, NOW)
    assert reading == CgroupReading(time=NOW, cpu={"usage_usec": 1})
    assert (reading.working_set, reading.cpu_ns) == (None, 1000)


def test_the_root_has_the_machines_size_and_counts_pages() -> None:
    """It has no memory.current; anonymous and file pages are what it uses."""
    files = {name: FILES[name] for name in ("cpu.stat", "memory.stat")}
    reading = readings.read_cgroup(files, NOW)
    assert reading is not None
    root = readings.of_root(reading, procfiles.meminfo(MEMINFO))
    assert (root.memory_usage, root.memory_limit, root.swap_usage, root.swap_limit) == (
        4194304 + 6291456,
        2_048_000_000,
        0,
        0,
    )


def test_a_root_without_memory_stat_uses_what_is_not_free() -> None:
    root = readings.of_root(CgroupReading(time=NOW), procfiles.meminfo(MEMINFO))
    assert root.memory_usage == 2_048_000_000 - 512_000_000


def at(time: float, micros: int, rate: int | None = None) -> CgroupReading:
    return CgroupReading(time=time, cpu={"usage_usec": micros}, usage_nano_cores=rate)


def test_the_rate_is_the_time_used_between_two_readings() -> None:
    assert readings.with_rate(at(NOW + 2, 3_000_000), at(NOW, 0)).usage_nano_cores == 1_500_000_000


def test_a_first_reading_has_no_rate_and_a_restarted_one_neither() -> None:
    assert readings.with_rate(at(NOW, 5), None) == at(NOW, 5)
    assert readings.with_rate(at(NOW + 9, 5), at(NOW, 6)) == at(NOW + 9, 5)


def test_a_reading_too_soon_keeps_the_rate_of_the_one_before() -> None:
    soon = readings.with_rate(at(NOW + 0.1, 6), at(NOW, 5, rate=77))
    assert soon == msgspec.structs.replace(at(NOW + 0.1, 6), usage_nano_cores=77)
