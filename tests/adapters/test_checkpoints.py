"""Checkpoint files are replaced whole or not at all."""

from pathlib import Path

import pytest

from flexlet.adapters.checkpoints import CheckpointFiles
from flexlet.errors import HostError


async def test_what_was_saved_is_loaded_and_nothing_else_is_there(tmp_path: Path) -> None:
    files = CheckpointFiles(tmp_path / "new")
    assert await files.load("a") is None
    await files.save("a", b"1")
    await files.save("a", b"22")
    assert (await files.load("a"), files.path("a")) == (b"22", f"{tmp_path}/new/a")
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["a"]


async def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    files = CheckpointFiles(tmp_path)
    await files.save("a", b"1")
    (tmp_path / ".a").mkdir()
    with pytest.raises(
        HostError, match=rf"cannot write {tmp_path}/a: Is a directory; the old content still holds"
    ):
        await files.save("a", b"2")
    assert await files.load("a") == b"1"


async def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(HostError, match=rf"cannot read {tmp_path}/a: Is a directory"):
        await CheckpointFiles(tmp_path).load("a")
