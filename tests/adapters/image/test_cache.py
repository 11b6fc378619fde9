"""Folders that are complete or absent."""

import os
import threading
from pathlib import Path

import pytest

from flexlet.adapters.image import cache


class Builder:
    """Fills a folder, and remembers how often and what it said."""

    def __init__(self) -> None:
        self.built: list[Path] = []
        self.said: list[str] = []

    def __call__(self, target: Path) -> None:
        self.built.append(target)
        (target / "file").write_text("done")


def test_a_folder_is_built_once(tmp_path: Path) -> None:
    builder = Builder()
    folders = {cache.obtain(tmp_path / "kind", "name", builder, builder.said.append) for _ in range(2)}
    assert folders == {tmp_path / "kind/name"}
    assert (tmp_path / "kind/name/file").read_text() == "done"
    assert (len(builder.built), builder.said) == (1, [])


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(target: Path) -> None:
        (target / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.obtain(tmp_path, "name", fail, print)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_killed_build_is_cleaned_by_the_next(tmp_path: Path) -> None:
    """Whoever was killed could not clean up; the lock proves that nobody works there."""
    (tmp_path / ".building-x/tree").mkdir(parents=True)
    builder = Builder()
    cache.obtain(tmp_path, "name", builder, print)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "name"]


def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    """The second one says that it waits, and takes what the first one made."""
    entered, go_on = threading.Event(), threading.Event()
    first, second = Builder(), Builder()

    def slow(target: Path) -> None:
        entered.set()
        assert go_on.wait(10)
        first(target)

    def told(line: str) -> None:
        second.said.append(line)
        go_on.set()

    threads = [threading.Thread(target=cache.obtain, args=(tmp_path, "name", slow, print))]
    threads[0].start()
    assert entered.wait(10)
    assert cache.obtain(tmp_path, "name", second, told) == tmp_path / "name"
    threads[0].join()
    assert (len(first.built), len(second.built)) == (1, 0)
    assert second.said == ["waiting for another process that is building"]


def test_forgetting_keeps_what_was_used_last(tmp_path: Path) -> None:
    for age, name in enumerate(["new", "middle", "old"]):
        folder = cache.obtain(tmp_path, name, Builder(), print)
        os.utime(folder, (0, 1000 - age))
    cache.obtain(tmp_path, "old", Builder(), print)
    cache.forget(tmp_path, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["new", "old"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"FLEXLET_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/flexlet"),
        ({"HOME": "/h"}, "/h/.cache/flexlet"),
    ],
)
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str) -> None:
    for name in ("FLEXLET_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache.default() == Path(expected)
