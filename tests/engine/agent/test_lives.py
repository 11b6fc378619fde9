"""Any life ends well: see `lives`."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import campaign
from tests.engine.agent.lives import Happening, happenings, live

from flexlet.testing import run


def ends_well(life: list[Happening]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        assert run(live(life, Path(directory))) == {}


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.lists(happenings, min_size=6, max_size=16))
def test_any_life_ends_well(life: list[Happening]) -> None:
    """Every pod has what it asked for last, once; nothing is left of the others; and then there is peace."""
    ends_well(life)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=campaign.length(60, 300), deadline=None)
@given(st.lists(happenings, min_size=15, max_size=40))
def test_any_long_life_ends_well(life: list[Happening]) -> None:
    """The same for longer ones, and many of them."""
    ends_well(life)
