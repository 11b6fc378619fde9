"""`flexlet bench` runs the benches of a clone, and says where they are otherwise."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import flexlet
from flexlet.cli.bench import bench
from flexlet.errors import ConfigError

pytestmark = pytest.mark.slow


def test_an_unknown_bench_is_wrong_usage_and_told_with_those_there_are(capfd: pytest.CaptureFixture[str]) -> None:
    found = CliRunner().invoke(bench, ["speed"])
    assert found.exit_code == 2
    assert "no bench called speed; there are apiserver, balloons, calc, " in capfd.readouterr().err


def test_an_installed_package_has_none_and_says_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flexlet, "__file__", str(tmp_path / "lib" / "flexlet" / "__init__.py"))
    found = CliRunner().invoke(bench, [])
    assert isinstance(found.exception, ConfigError)
    assert str(found.exception) == (
        "the benches are not part of the installed package: clone the project and run `make bench` there"
    )
