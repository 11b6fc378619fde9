"""``flexlet demo`` does what it says, to the end."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1800)]


def test_the_demo_tells_its_story() -> None:
    done = subprocess.run([sys.executable, "-m", "flexlet", "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["STEP", "BEFORE", "AFTER", "TIME"]
    steps = ["cluster starts", "pods start", "pod resized in place", "no room", "node grows", "node shrinks"]
    assert [row[: row.index("  ")] for row in rows] == steps
    resized = rows[2]
    assert "cpu.max 50000 100000, memory.max 256Mi" in resized
    assert "cpu.max 100000 100000, memory.max 512Mi" in resized
    assert "containers see 4; big runs" in rows[4]
    assert "containers see 2; big ended: OutOfcpu, team runs on" in rows[5]
