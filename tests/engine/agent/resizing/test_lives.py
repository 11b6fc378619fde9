"""Whatever happens to a machine and its node, in the end they are the same: see `lives`."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests import campaign
from tests.engine.agent.happenings import Wait
from tests.engine.agent.resizing import rig
from tests.engine.agent.resizing.happenings import (
    Cpus,
    Create,
    Delete,
    Die,
    Happening,
    Memory,
    NoSpace,
    Resize,
    Swap,
    configs,
    life_of,
)
from tests.engine.agent.resizing.lives import live

from flexlet.core.hotplug import saved
from flexlet.core.managers.files import CPU_FILE
from flexlet.testing import run

Json = dict[str, Any]

OWN, SHARES = Create("guaranteed", 0, 0), Create("burstable", 0, 0)
LIVES: dict[str, list[Happening]] = {
    "critical pods are still too large when swap goes": [
        *(OWN, Wait(2.0), Memory(3, silent=False), Create("static", 1, 0), Wait(20.0), Swap(0)),
    ],
    "a container started for a size that was never written down": [
        *(Create("static", 0, 0), Wait(2.0), Memory(3, silent=False), Die(0, 0.0)),
        *(OWN, NoSpace(saved.FILE, 1), Wait(0.0), OWN, Memory(4, silent=False)),
    ],
    "critical pods that are found again after the size was planned": [
        *(Create("guaranteed", 2, 2_000_000_000), Create("static", 3, 0), Wait(2.0), NoSpace(CPU_FILE, 3)),
        *(Die(4, 1.0), Memory(9, silent=False), Cpus(frozenset({6, 9})), Wait(0.3)),
    ],
    "other CPUs for a container whose swap has just changed": [
        *(OWN, SHARES, Wait(2.0), Delete(0), Swap(0), Wait(0.3), OWN),
    ],
    "other CPUs for a container while its node changes": [
        *(OWN, SHARES, Wait(2.0), Resize(0, 0), Cpus(frozenset({1})), Delete(0), Memory(3, silent=False)),
    ],
}
"""Some that did not end well once."""


def ends_well(life: list[Happening], config: Json) -> None:
    with tempfile.TemporaryDirectory() as directory:
        assert run(live(life, config, Path(directory))) == {}


@pytest.mark.parametrize("config", [rig.CONFIG, rig.STATIC], ids=["none", "static"])
@pytest.mark.parametrize("name", LIVES)
def test_a_life_that_went_wrong_once(name: str, config: Json) -> None:
    ends_well(LIVES[name], config)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(life_of(14), configs)
def test_any_life_ends_well(life: list[Happening], config: Json) -> None:
    """Nobody was ended who would have fitted, no CPU has two owners, and every value is that of the machine."""
    ends_well(life, config)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=campaign.length(20, 1000), deadline=None)
@given(life_of(40), configs)
def test_any_long_life_ends_well(life: list[Happening], config: Json) -> None:
    """The same for longer ones, and a thousand of them."""
    ends_well(life, config)
