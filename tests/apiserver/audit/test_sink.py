"""The log: lines in a private file that is turned over; whatever the disk does, requests go on."""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.audit.auditor import AuditSettings, open_auditor
from flexlet.apiserver.audit.sink import LogFile, Rotation, Sink, line
from flexlet.apiserver.server import Settings, serving
from flexlet.errors import ConfigError

POLICY = Path("tests/data/audit/policy.yaml")


def event(**more: Any) -> dict[str, Any]:
    return {"stage": "Panic", "requestReceivedTimestamp": 0.0, "stageTimestamp": 1.5, "pruned": True, **more}


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_line_has_no_empty_fields_and_no_managed_fields() -> None:
    body = b'{"kind":"A","metadata":{"name":"a","managedFields":[{"manager":"m"}]}}'
    found = json.loads(line(event(objectRef={"resource": "a", "uid": ""}, userAgent="", requestObject=body)))
    assert found == {
        "stage": "Panic",
        "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z",
        "stageTimestamp": "1970-01-01T00:00:01.500000Z",
        "objectRef": {"resource": "a"},
        "requestObject": {"kind": "A", "metadata": {"name": "a"}},
    }


def test_a_file_is_private_and_turned_over(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.touch(mode=0o644)
    file = LogFile(path, Rotation(max_size_mb=1, max_backups=2))
    for _ in range(5):
        file.write(b"x" * 700_000)
        time.sleep(0.002)  # backups are named by the millisecond
    file.close()
    backups = sorted(tmp_path.glob("audit-*.log"))
    assert [found.stat().st_size for found in (path, *backups)] == [700_000] * 3
    assert [found.stat().st_mode & 0o777 for found in (path, *backups)] == [0o600] * 3


def test_a_backup_that_is_too_old_goes(tmp_path: Path) -> None:
    old = tmp_path / "audit-2020-01-01T00-00-00.000.log"
    old.touch()
    os.utime(old, (0, 0))
    file = LogFile(tmp_path / "audit.log", Rotation(max_size_mb=1, max_age_days=1))
    file.write(b"x" * 700_000)
    file.write(b"x" * 700_000)
    file.close()
    assert (old.exists(), len(list(tmp_path.iterdir()))) == (False, 2)


def test_what_cannot_be_written_is_counted_and_the_next_is_tried() -> None:
    sink = Sink("/dev/full", Rotation())
    for _ in range(3):
        sink.put(event())
    until(lambda: sink.dropped == 3)
    sink.close()
    assert (sink.written, sink.dropped) == (0, 3)


def test_a_full_queue_drops_and_never_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Sink(str(tmp_path / "log"), Rotation(), queued=2)
    monkeypatch.setattr(sink._output, "write", lambda _: time.sleep(0.5))
    began = time.monotonic()
    for _ in range(50):
        sink.put(event())
    assert time.monotonic() - began < 0.4
    assert sink.dropped >= 46
    sink.close()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (AuditSettings(log_path="-"), "--audit-log-path needs --audit-policy-file"),
        (AuditSettings(policy_file=POLICY), "--audit-policy-file needs --audit-log-path"),
        (AuditSettings(policy_file=Path("none"), log_path="-"), "cannot read the audit policy none: No such file"),
        (AuditSettings(policy_file=POLICY, log_path="/proc/none"), "cannot write the audit log /proc/none"),
    ],
)
def test_flags_that_cannot_work_say_so(settings: AuditSettings, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_auditor(settings, SystemClock())
    assert text in str(caught.value)


def test_without_flags_there_is_no_auditor() -> None:
    assert open_auditor(AuditSettings(), SystemClock()) is None


async def test_a_full_disk_leaves_the_server_answering_and_shows_in_its_metrics(tmp_path: Path) -> None:
    audit = AuditSettings(policy_file=POLICY, log_path="/dev/full")
    async with serving(Settings(data=tmp_path / "data", audit=audit), SystemClock()) as server:
        admin = Client(server, tmp_path, "admin", ["system:masters"])
        codes = [(await admin.ask("GET", "/version")).status for _ in range(3)]
        lines = await _lines_with_losses(admin)
        await admin.close()
    assert codes == [200, 200, 200]
    assert "apiserver_audit_event_total 0" in lines


async def _lines_with_losses(admin: Client) -> list[str]:
    """The metrics once the thread has come to its first Event."""
    async with asyncio.timeout(20):
        while True:
            lines = (await admin.ask("GET", "/metrics")).body.decode().splitlines()
            if any(re.fullmatch(r"apiserver_audit_error_total [1-9]\d*", text) for text in lines):
                return lines
