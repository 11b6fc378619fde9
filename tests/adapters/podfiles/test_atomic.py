"""Files of a volume change all at once."""

import shutil
import stat
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.adapters.podfiles import atomic
from flexlet.core.agent.containers.contents import File

PATHS = st.sampled_from(["a", "b", "d/x", "d/y", "d/e/z", ".hidden"])
SETS = st.dictionaries(PATHS, st.binary(max_size=3), max_size=5)


def of(**contents: bytes) -> dict[str, File]:
    return {name.replace("__", "/"): File(data, 0o644) for name, data in contents.items()}


def seen(directory: Path) -> dict[str, bytes]:
    """What a reader sees through the visible names."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for top in directory.iterdir()
        if not top.name.startswith("..")
        for path in (top.rglob("*") if top.is_dir() else [top])
        if path.is_file()
    }


@given(st.lists(SETS, min_size=1, max_size=5))
def test_after_any_changes_a_reader_sees_the_last_set_and_nothing_is_left_over(
    changes: list[dict[str, bytes]],
) -> None:
    directory = Path(mkdtemp())
    try:
        before: dict[str, bytes] | None = None
        for contents in changes:
            changed = atomic.replace(directory, {name: File(data, 0o644) for name, data in contents.items()}, 0.0)
            assert (seen(directory), changed) == (contents, contents != before)
            before = contents
        hidden = [each.name for each in directory.iterdir() if each.name.startswith("..")]
        assert sorted(hidden) == sorted(["..data", str((directory / "..data").readlink())])
    finally:
        shutil.rmtree(directory)


def test_an_equal_set_is_left_alone_but_lost_links_come_back(tmp_path: Path) -> None:
    atomic.replace(tmp_path, of(a=b"1", b=b"2"), 0.0)
    first = (tmp_path / "..data").readlink()
    (tmp_path / "a").unlink()
    # What the volume's group was given is no change.
    (tmp_path / "b").chmod(0o660)
    assert not atomic.replace(tmp_path, of(a=b"1", b=b"2"), 9.0)
    assert ((tmp_path / "..data").readlink(), seen(tmp_path)) == (first, {"a": b"1", "b": b"2"})


def test_the_directory_is_named_by_the_time_and_files_have_their_mode(tmp_path: Path) -> None:
    atomic.replace(tmp_path, {"d/x": File(b"1", 0o400)}, 1_000_000.0)
    assert str((tmp_path / "..data").readlink()).startswith("..1970_01_12_13_46_40.")
    assert (tmp_path / "d").readlink() == Path("..data/d")
    assert stat.S_IMODE((tmp_path / "d/x").stat().st_mode) == 0o400
    assert stat.S_IMODE((tmp_path / "..data").stat().st_mode) == 0o755


def test_owners_are_given_the_files_before_anybody_sees_them(tmp_path: Path) -> None:
    atomic.replace(tmp_path, of(a=b"old"), 0.0)
    shown: list[bytes] = []
    atomic.replace(tmp_path, of(a=b"new"), 0.0, lambda directory: shown.append((directory / "a").read_bytes()))
    assert (shown, (tmp_path / "a").read_bytes()) == ([b"old"], b"new")


def test_a_write_that_fails_leaves_the_old_set(tmp_path: Path) -> None:
    atomic.replace(tmp_path, of(a=b"old"), 0.0)

    def fail(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        atomic.replace(tmp_path, of(a=b"new"), 0.0, fail)
    assert seen(tmp_path) == {"a": b"old"}
    atomic.replace(tmp_path, of(a=b"new"), 0.0)
    leftovers = [each.name for each in tmp_path.iterdir() if each.name.startswith("..1970")]
    assert (seen(tmp_path), len(leftovers)) == ({"a": b"new"}, 1)


def test_directories_that_others_made_to_mount_on_stay(tmp_path: Path) -> None:
    (tmp_path / "nested").mkdir()
    atomic.replace(tmp_path, of(a=b"1"), 0.0)
    atomic.replace(tmp_path, of(b=b"1"), 0.0)
    assert {each.name for each in tmp_path.iterdir() if not each.name.startswith("..")} == {"b", "nested"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", 'invalid path: must not be empty: ""'),
        ("/a", "invalid path: must be relative path: /a"),
        ("a/../b", "invalid path: must not contain '..': a/../b"),
        ("..", "invalid path: must not contain '..': .."),
        ("..a/b", "invalid path: must not start with '..': ..a/b"),
        ("a/" + "x" * 256, "invalid path: filenames must be less than or equal to 255 characters"),
        ("x/" * 2100, "invalid path: must be less than or equal to 4096 characters"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused_before_anything_is_written(
    name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"^invalid path") as caught:
        atomic.replace(tmp_path, {name: File(b"", 0o644)}, 0.0)
    assert (str(caught.value), list(tmp_path.iterdir())) == (message, [])
