import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from flexlet.adapters.manifests.documents import MAX_BYTES, manifest
from flexlet.adapters.manifests.folder import ManifestFolder
from flexlet.core.staticpods.pods import Manifest


async def news(changes: AsyncIterator[tuple[Manifest, ...]]) -> list[tuple[str, object]]:
    async with asyncio.timeout(10):
        found = await anext(changes)
    return [(Path(each.path).name, each.problem or each.value) for each in found]


async def test_changes_are_told_at_once(tmp_path: Path) -> None:
    """Written, replaced by renaming, removed; dot files and directories are no manifests."""
    (tmp_path / ".hidden.yaml").write_text("a: 1")
    (tmp_path / "folder").mkdir()
    async with aclosing(ManifestFolder(str(tmp_path), poll_s=60).changes()) as changes:  # type: ignore[type-var]
        assert await news(changes) == []
        (tmp_path / "b.yaml").write_text("b: 1")
        assert await news(changes) == [("b.yaml", {"b": 1})]
        (tmp_path / ".tmp").write_text('{"a": 2}')
        (tmp_path / ".tmp").rename(tmp_path / "a.json")
        assert await news(changes) == [("a.json", {"a": 2}), ("b.yaml", {"b": 1})]
        (tmp_path / "b.yaml").unlink()
        assert await news(changes) == [("a.json", {"a": 2})]


async def test_a_folder_may_come_later_and_go(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    async with aclosing(ManifestFolder(str(folder), poll_s=0.01).changes()) as changes:  # type: ignore[type-var]
        assert await news(changes) == []
        folder.mkdir()
        (folder / "a").write_text("a: 1")
        assert await news(changes) == [("a", {"a": 1})]
        (folder / "a").unlink()
        folder.rmdir()
        assert await news(changes) == []
        folder.mkdir()
        (folder / "a").write_text("a: 2")
        assert await news(changes) == [("a", {"a": 2})]


async def test_a_single_file_is_looked_at_now_and_then(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("a: 1")
    async with aclosing(ManifestFolder(str(path), poll_s=0.01).changes()) as changes:  # type: ignore[type-var]
        assert await news(changes) == [("pod.yaml", {"a": 1})]
        path.write_text("a: 2")
        assert await news(changes) == [("pod.yaml", {"a": 2})]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"a: 2024-01-01\n---\nb: 1", {"a": "2024-01-01"}),
        (b'{"a": [1, null]}', {"a": [1, None]}),
        (b"", None),
    ],
)
def test_documents_are_read_as_kubernetes_reads_them(data: bytes, value: object) -> None:
    """The first one counts, and times stay text."""
    assert manifest("/m", data) == Manifest("/m", value)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a: [", "couldn't parse as pod: while parsing a flow node"),
        (b"\xff\xfe\x00", "couldn't parse as pod: "),
        (b"#" * (MAX_BYTES + 1), "the file is larger than 10 MiB"),
    ],
)
def test_what_cannot_be_read_is_a_value(data: bytes, problem: str) -> None:
    found = manifest("/m", data)
    assert (found.path, found.value, found.problem.startswith(problem)) == ("/m", None, True)
