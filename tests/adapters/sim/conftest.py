import pytest
from tests.adapters.sim.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()
