"""``flexlet server backup``, ``restore`` and ``check``, typed as users type them."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests import servers

pytestmark = pytest.mark.slow


def flexlet(*arguments: object) -> tuple[int, str]:
    command = [sys.executable, "-m", "flexlet", "server", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_a_backup_of_a_running_server_brings_it_back(tmp_path: Path) -> None:
    saved, restored = tmp_path / "saved", tmp_path / "again" / "data"
    with servers.flexlet(tmp_path, "server") as running:
        code, text = flexlet("backup", running.data, saved)
        assert (code, text.startswith("backed up ")) == (0, True), text
        assert flexlet("check", running.data)[1].endswith("nothing is damaged\n")
        assert flexlet("restore", saved, running.data)[0] == 1
        assert "a server has it open; stop it first" in flexlet("restore", "--replace", saved, running.data)[1]
    assert saved.stat().st_mode & 0o777 == 0o600
    assert flexlet("restore", saved, restored)[0] == 0
    assert {file.name for file in (restored / "pki").iterdir()} == {
        file.name for file in (tmp_path / "data/pki").iterdir()
    }
    (tmp_path / "again").joinpath("kubeconfig").unlink(missing_ok=True)
    with servers.flexlet(tmp_path / "again", "server"):
        pass
    code, text = flexlet("restore", saved, restored)
    assert (code, "flexlet.db is there; name another directory, or add --replace" in text) == (1, True)
    assert flexlet("restore", "--replace", saved, restored)[0] == 0
    assert (restored / "flexlet.db.1").exists()


def test_damage_is_told_and_what_is_readable_is_saved(tmp_path: Path) -> None:
    with servers.flexlet(tmp_path, "server") as running:
        data = running.data
    database = data / "flexlet.db"
    content = bytearray(database.read_bytes())
    at = content.rindex(b'"resourceVersion"')
    content[at] ^= 1
    database.write_bytes(content)
    code, text = flexlet("check", data)
    assert code == 3
    assert "1 record with a wrong checksum: " in text
    assert flexlet("backup", data, tmp_path / "saved")[0] == 1
    assert database.read_bytes() == content
    code, text = flexlet("check", "--repair", data)
    assert (code, "the damaged files are kept" in text) == (0, True), text
    assert (data / "flexlet.db.1").read_bytes() == content
    assert flexlet("check", data)[0] == 0
    with servers.flexlet(tmp_path, "server"):
        pass


def test_a_directory_without_data_is_named(tmp_path: Path) -> None:
    assert flexlet("check", tmp_path) == (
        1,
        f"error: there is no data of a server in {tmp_path}: flexlet.db is missing\n",
    )
