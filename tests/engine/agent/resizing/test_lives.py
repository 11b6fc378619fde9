"""Whatever happens to a machine and its node, in the end they are the same: see `lives`."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.engine.agent.resizing.lives import Happening, configs, life_of, live

from flexlet.testing import run

Json = dict[str, Any]


def ends_well(life: list[Happening], config: Json) -> None:
    with tempfile.TemporaryDirectory() as directory:
        assert run(live(life, config, Path(directory))) == {}


@settings(max_examples=25, deadline=None)
@given(life_of(14), configs)
def test_any_life_ends_well(life: list[Happening], config: Json) -> None:
    """Nobody was ended who would have fitted, no CPU has two owners, and every value is that of the machine."""
    ends_well(life, config)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=1000, deadline=None)
@given(life_of(40), configs)
def test_any_long_life_ends_well(life: list[Happening], config: Json) -> None:
    """The same for longer ones, and a thousand of them."""
    ends_well(life, config)
