"""The pages that people read, and what stands in them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return [text for found, text in _FENCED.findall(page.read_text()) if found == language]


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return _FENCED.sub("", page.read_text())
