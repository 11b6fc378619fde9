"""Every sequence of node-resize.md §7.2 (s), the victims of §7.3 (v), and what else can happen (e)."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.node_resize.order import Order
from tests.scenarios.node_resize.seeing import Seeing
from tests.scenarios.node_resize.stage import stage

from flexlet.testing import run

Json = dict[str, Any]

STORIES = {path.stem: path for path in sorted(Path(__file__).parent.glob("[esv][0-9]*.yaml"))}


async def play(story: Json, directory: Path) -> list[tuple[Json, Json]]:
    """What was seen after each step, and what was expected."""
    found = []
    async with stage(story["given"], directory) as there:
        seeing, order = Seeing(there), Order(there)
        begun = {"when": {"wait": 1}, "then": story["given"]["then"]} if "then" in story["given"] else None
        for number, step in enumerate(filter(None, (begun, *story["story"]))):
            await seeing.forget()
            order.forget()
            before = seeing.runs()
            await there.act(step["when"])
            expected = {"step": number, **step["then"]}
            seen: Json = {"step": number}
            for key, value in step["then"].items():
                seen[key] = order.seen[key] if key in order.seen else await seeing.seen(key, value)
            found.append((seen, expected))
            again = sorted(name for name, ids in seeing.runs().items() if ids - before.get(name, ids))
            assert again == step.get("restarted", []), "whoever stays is not started again"
    return found


@pytest.mark.parametrize("name", STORIES)
def test_a_story_of_a_node_that_follows_its_machine(name: str, tmp_path: Path) -> None:
    story = yaml.safe_load(STORIES[name].read_text(encoding="utf-8"))
    for seen, expected in run(play(story, tmp_path)):
        assert seen == expected
