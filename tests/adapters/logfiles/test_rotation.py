"""Logs of running containers are kept small."""

import gzip
import logging
import time
from pathlib import Path

import pytest
from tests.engine.fakes import FakeClock

from flexlet.adapters.logfiles.rotation import LogRotation
from flexlet.errors import RuntimeFault


class FakeRuntime:
    """Opens logs anew, or fails to."""

    def __init__(self, logs: dict[str, Path]) -> None:
        self._logs = logs
        self.reopened: list[str] = []
        self.fails = False

    async def reopen_log(self, container_id: str) -> None:
        self.reopened.append(container_id)
        if self.fails:
            raise RuntimeFault("ReopenContainerLog failed", code="Unavailable")
        self._logs[container_id].touch()


def write(path: Path, text: str) -> None:
    path.write_text(text * 100)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    path.write_text("x" * 100)
    return path


def rotation(runtime: FakeRuntime, clock: FakeClock, max_bytes: int = 100, max_files: int = 3) -> LogRotation:
    return LogRotation(runtime, clock, max_bytes, max_files)  # type: ignore[arg-type]


def names(log: Path) -> dict[str, str]:
    """The files beside a log and what they hold."""
    return {
        path.name: (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()[:2]
        for path in log.parent.iterdir()
    }


def stamp(clock: FakeClock) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(clock.now()))


async def test_a_small_log_stays(log: Path) -> None:
    runtime = FakeRuntime({"c": log})
    await rotation(runtime, FakeClock(), max_bytes=101).rotate([("c", log)])
    assert (names(log), runtime.reopened) == ({"0.log": "xx"}, [])


async def test_a_full_log_is_moved_aside_and_the_one_before_compressed(log: Path) -> None:
    """With three files: the live one, the last one, and one compressed; what is older goes."""
    runtime, clock = FakeRuntime({"c": log}), FakeClock()
    stamps = []
    for _ in range(3):
        await rotation(runtime, clock).rotate([("c", log)])
        stamps.append(stamp(clock))
        write(log, f"{len(stamps)}")
        clock.time += 10
    assert names(log) == {"0.log": "33", f"0.log.{stamps[2]}": "22", f"0.log.{stamps[1]}.gz": "11"}
    assert runtime.reopened == ["c", "c", "c"]


async def test_what_a_crash_left_behind_is_removed(log: Path) -> None:
    (log.parent / "0.log.20200101-000000.tmp").write_text("half")
    (log.parent / "0.log.20200101-000000").write_text("done")
    (log.parent / "0.log.20200101-000000.gz").write_bytes(gzip.compress(b"done"))
    (log.parent / "1.log").write_text("of another run")
    clock = FakeClock()
    await rotation(FakeRuntime({"c": log}), clock).rotate([("c", log)])
    assert names(log) == {
        "0.log": "",
        f"0.log.{stamp(clock)}": "xx",
        "0.log.20200101-000000.gz": "do",
        "1.log": "of",
    }


async def test_a_missing_log_is_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    runtime = FakeRuntime({"c": log})
    await rotation(runtime, FakeClock()).rotate([("c", log)])
    assert (names(log), runtime.reopened) == ({"0.log": ""}, ["c"])


async def test_a_log_that_the_runtime_does_not_reopen_gets_its_name_back(
    log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And the others are still looked after."""
    other = log.with_name("1.log")
    other.write_text("y" * 100)
    runtime = FakeRuntime({"c": log, "d": other})
    runtime.fails = True
    with caplog.at_level(logging.WARNING):
        await rotation(runtime, FakeClock()).rotate([("c", log), ("d", other)])
    assert (names(log), runtime.reopened) == ({"0.log": "xx", "1.log": "yy"}, ["c", "d"])
    assert "cannot rotate log" in caplog.text


async def test_a_negative_size_switches_rotation_off(log: Path) -> None:
    runtime = FakeRuntime({"c": log})
    await rotation(runtime, FakeClock(), max_bytes=-1).rotate([("c", log)])
    assert (names(log), runtime.reopened) == ({"0.log": "xx"}, [])
