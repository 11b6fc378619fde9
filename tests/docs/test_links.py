"""Pages point at things that exist."""

import re
from pathlib import Path

import pytest
from tests.docs import pages

ROOMS = {path.name for path in (pages.ROOT / "src/flexlet").iterdir()}
TOPS = {"src", "tests", "docs", "bench", "changelog.d", "requirements", ".ci"}
_API_VERSION = re.compile(r".*/v\d\w*$")


def anchors(page: Path) -> set[str]:
    """What headings are called in links."""
    titles = re.findall(r"^#+ (.+)$", pages.prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = (page.parent / path).resolve() if path else page
    return not found.exists() or bool(anchor and anchor not in anchors(found))


@pytest.mark.parametrize("name", pages.NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = pages.ROOT / name
    links = re.findall(r"\]\(([^)\s]+)\)", pages.prose(page))
    assert [link for link in links if "://" not in link and broken(page, link)] == []


@pytest.mark.parametrize("name", pages.NAMES)
def test_paths_in_the_tree_exist(name: str) -> None:
    """A path is looked for from the top, and from `src/flexlet`, as the pages write rooms."""
    spans = re.findall(r"`([\w.*-]+/[\w./*-]*)`", pages.prose(pages.ROOT / name))
    paths = [span for span in spans if span.split("/")[0] in TOPS | ROOMS and not _API_VERSION.match(span)]
    assert [path for path in paths if not exists(path)] == []


def exists(path: str) -> bool:
    pattern = path.rstrip("/")
    return any(any(start.glob(pattern)) for start in (pages.ROOT, pages.ROOT / "src/flexlet"))


def test_every_page_can_be_reached() -> None:
    """From the README, by links."""
    seen: set[Path] = set()
    queue = [pages.ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)\s#]+)", pages.prose(page))
        queue += [target for link in links if (target := (page.parent / link).resolve()).exists()]
    assert sorted(set(pages.DOCS.rglob("*.md")) - seen) == []
