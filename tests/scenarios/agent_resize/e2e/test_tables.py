"""The tables of the upstream suites: every pod reaches its other size and comes back, as its policy says."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.agent_resize.e2e import cases, promises
from tests.scenarios.agent_resize.e2e.bench import Seen, trip
from tests.scenarios.agent_resize.e2e.cases import Case

from flexlet.testing import run

TABLES: dict[str, tuple[Callable[[], Iterator[Case]], int]] = {
    each.__name__: (each, count)
    for each, count in (
        (cases.guaranteed, 24),
        (cases.burstable, 28),
        (cases.several, 4),
        (cases.pod_level_guaranteed, 60),
        (cases.pod_level_burstable, 56),
        (cases.pod_level_several, 6),
        (cases.additions, 4),
    )
}
"""With as many lines as the suites have cases that they stand for."""


def promised(case: Case, times: int, seen: Seen) -> tuple[Any, ...]:
    """What is to be seen of a pod that has been resized so many times."""
    restarts = {name: times * count for name, count in case.restarts.items() if times}
    return (*promises.promised(seen), promises.requested(seen), restarts)


def kept(seen: Seen) -> tuple[Any, ...]:
    """What is."""
    return (*promises.kept(seen), promises.allocated(seen), promises.restarts(seen))


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_there_and_back(name: str, tmp_path: Path) -> None:
    """At each place the status says what was asked, the cgroups have it, and only who must was restarted."""
    table, count = TABLES[name]
    lines = list(table())
    assert len(lines) == count
    found = run(trip(lines, tmp_path, back=name != "additions"))
    expected = {case.name: [promised(case, *each) for each in enumerate(found[case.name])] for case in lines}
    assert {case: [kept(each) for each in several] for case, several in found.items()} == expected
