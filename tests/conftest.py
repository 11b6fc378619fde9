"""Settings of all suites."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import campaign, skips

# A run that decides about a change must not depend on luck; everywhere else new examples are welcome. There are no
# deadlines, for machines are busy, and few enough examples that nobody waits for them: `make test-slow` runs every
# property again with FLEXLET_EXAMPLES of them.
EXAMPLES = int(os.environ.get("FLEXLET_EXAMPLES", str(campaign.length(20, 1000))))
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=EXAMPLES, print_blob=True)
settings.register_profile("local", deadline=None, max_examples=EXAMPLES)
settings.load_profile("ci" if os.environ.get("CI") else "local")


FAST = "not vm and not cluster and not slow"
"""What `make test` runs, as in pyproject.toml."""
WHOLLY_SLOW = re.compile(r"^pytestmark = .*mark\.(?:slow|vm|cluster)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether to leave a file alone: to import those that run nothing costs the fast tests seconds."""
    fast = config.option.markexpr == FAST and collection_path.match("test_*.py")
    return True if fast and WHOLLY_SLOW.search(collection_path.read_text()) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """In CI a skipped VM, cluster or documentation test is a failure: it would hide a whole suite."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    skips.judge(item, report)
    return report  # type: ignore[return-value]
