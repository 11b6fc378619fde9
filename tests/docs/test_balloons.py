"""What the pages say about balloons: every metric is named with its type, and every file is there."""

import re
from pathlib import Path

from tests.docs import pages

from flexlet.core.nodesize import exposition
from flexlet.core.nodesize.tally import Tally

ROOT = pages.DOCS.parent
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| [^|]*\| ([^|]+) \|$", re.MULTILINE)


def test_every_metric_of_the_controllers_is_documented() -> None:
    page = (pages.DOCS / "reference/metrics.md").read_text()
    page = page.partition("## Sizes of nodes")[2].partition("\n## ")[0]
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", exposition.render(Tally()), re.MULTILINE))
    wanted = [(name, kinds[name], text) for name, text in exposition.HELP.items()]
    assert ROW.findall(page) == wanted


def test_every_file_that_the_page_names_is_there() -> None:
    page = (pages.DOCS / "keps/5620.md").read_text()
    named = set(re.findall(r"`((?:tests|core|engine|ports)/[\w./]+)`", page))
    assert len(named) > 20
    assert [name for name in sorted(named) if not _place(name).exists()] == []


def _place(name: str) -> Path:
    return ROOT / name if name.startswith("tests/") else ROOT / "src/flexlet" / name
