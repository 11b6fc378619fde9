"""Which tests may be skipped where a change is decided about (``CI`` is set): those listed here, and why."""

import os

import pytest

GUARDED = ("tests/vm/", "tests/cluster/", "tests/docs/", "tests/contracts/")
"""Suites that a missing program would take away as a whole."""
ALLOWED = {
    # The same contract is kept on a real kernel with all controllers in tests/vm/test_ports.py.
    "tests/contracts/test_cgroup_port.py": ("needs a cgroup v2 mount", "needs the controllers"),
    # `make test-cluster` builds its own kubectl; a second one is a bonus of hosts that have it.
    "tests/cluster/": ("the installed kubectl is missing; the other one runs",),
}
"""The beginnings of reasons that are good enough, by where the tests are."""


def complaint(nodeid: str, marks: set[str], reason: str) -> str:
    """What is wrong with a skip in CI; empty if it is fine."""
    if not (nodeid.startswith(GUARDED) or marks & {"vm", "cluster"}):
        return ""
    allowed = [begin for place, begins in ALLOWED.items() if nodeid.startswith(place) for begin in begins]
    return "" if reason.startswith(tuple(allowed)) else f"skipped, which CI does not allow: {reason}"


def judge(item: pytest.Item, report: pytest.TestReport) -> None:
    """Turn a skip that is not allowed into a failure."""
    if not (os.environ.get("CI") and report.skipped and isinstance(report.longrepr, tuple)):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if wrong := complaint(item.nodeid, {mark.name for mark in item.iter_markers()}, reason):
        report.outcome, report.longrepr = "failed", wrong
