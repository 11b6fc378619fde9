"""Nobody but its owner sees the data, whatever modes it was found with."""

import os
import stat
from pathlib import Path

import pytest

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver import datadirectory
from flexlet.apiserver.auth.kubeconfig import write_kubeconfig
from flexlet.apiserver.server import Settings, serving
from flexlet.errors import ConfigError


def modes(data: Path) -> set[int]:
    return {stat.S_IMODE(path.lstat().st_mode) for path in (data, *data.rglob("*"))}


async def test_a_directory_that_was_open_is_closed(tmp_path: Path) -> None:
    """At the first start and at one with files that others could read; also while it runs, with its journal."""
    data = tmp_path / "data"
    (data / "pki").mkdir(parents=True)
    for _ in range(2):
        for path in (data, *data.rglob("*")):
            path.chmod(0o755)
        async with serving(Settings(data=data), SystemClock()) as server:
            write_kubeconfig(data / "kubeconfig", server.kubeconfig())
            assert (data / "flexlet.db-wal").exists()
            assert modes(data) == {0o700, 0o600}
        assert modes(data) == {0o700, 0o600}


def test_a_directory_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ConfigError) as raised:
        datadirectory.secure(tmp_path)
    assert str(raised.value) == (
        f"{tmp_path} belongs to the user with id {owner}, not to {owner + 1} who runs the server: run it as that "
        "user, or give the whole data directory to this one (chown -R)"
    )


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(ConfigError, match=r"^cannot keep data in .*data: File exists"):
        datadirectory.secure(tmp_path / "data")
