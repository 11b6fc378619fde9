"""A suite that is skipped where it must run is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import skips

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KUBECTL = "the installed kubectl is missing; the other one runs"
DENIED = "skipped, which CI does not allow: needs Go"


@pytest.mark.parametrize(
    ("nodeid", "marks", "reason", "wrong"),
    [
        ("tests/vm/test_lab.py::t", set(), "needs Go", DENIED),
        ("tests/cluster/test_watch.py::t", set(), "needs Go", DENIED),
        ("tests/docs/test_sessions.py::t", set(), "needs Go", DENIED),
        ("tests/apps/test_x.py::t", {"vm"}, "needs Go", DENIED),
        ("tests/apps/test_x.py::t", set(), "needs root", ""),
        ("tests/cluster/test_watch.py::t", {"cluster"}, KUBECTL, ""),
        ("tests/vm/test_lab.py::t", {"vm"}, KUBECTL, f"skipped, which CI does not allow: {KUBECTL}"),
        ("tests/contracts/test_cgroup_port.py::t", set(), "needs the controllers cpu and memory", ""),
    ],
)
def test_what_may_be_skipped(nodeid: str, marks: set[str], reason: str, wrong: str) -> None:
    assert skips.complaint(nodeid, marks, reason) == wrong


@pytest.mark.parametrize(("setting", "code"), [("1", 1), ("", 0)])
def test_a_skipped_suite_fails_in_ci_and_only_there(tmp_path: Path, setting: str, code: int) -> None:
    """With the real hook, in a run of its own."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_runtest_makereport")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.vm\n@pytest.mark.skipif(True, reason='needs Go')\ndef test_it(): pass\n"
    )
    words = ["-m", "pytest", "-q", "-m", "vm", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [sys.executable, *words, f"--rootdir={tmp_path}", str(tmp_path / "test_it.py")],
        env={**os.environ, "CI": setting, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, "CI does not allow: needs Go" in done.stdout) == (code, bool(code)), done.stdout
