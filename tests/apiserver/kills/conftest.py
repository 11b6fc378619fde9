from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.apiserver.kills.launcher import Launcher, launcher


@pytest.fixture(scope="session")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    with launcher(tmp_path_factory.mktemp("launcher")) as made:
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"
