"""Every recorded life, lived by the whole agent on a simulated node, against the embedded API server."""

from pathlib import Path

import pytest
from tests.lives import recording
from tests.scenarios.lives import known
from tests.scenarios.lives.comparison import differences
from tests.scenarios.lives.replay import replay

from flexlet.testing import run

KNOWN = known.load()


@pytest.mark.parametrize("name", [name for name in recording.names() if name not in KNOWN.not_lived])
def test_a_life_is_lived_again(name: str, tmp_path: Path) -> None:
    """The same statuses in the same order, the same events, the same cgroups, but for what has a reason."""
    life = recording.load(name)
    found = differences(life, run(replay(life, tmp_path)))
    assert KNOWN.judged(name, found) == ([], [])


def test_a_life_is_the_same_each_time(tmp_path: Path) -> None:
    """Nothing in a simulation is left to chance."""
    life = recording.load("resize-deferred-freed")
    first, second = (run(replay(life, tmp_path / name)) for name in ("first", "second"))
    assert first == second
