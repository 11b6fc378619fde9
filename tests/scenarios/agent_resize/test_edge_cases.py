"""Every edge case that is the node's, on a whole node."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.engine.agent.world import world
from tests.scenarios.agent_resize.stage import Stage, options

from flexlet.testing import run

Json = dict[str, Any]

FOLDER = Path(__file__).parent.parent / "resize"
STORIES = {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}
INSIDE = {"calls", "accepted", "infeasible"}
"""Expectations about the pure functions, which nobody sees from outside."""
WITHOUT = {
    "11-larger-than-the-node": "PodResizeValidator",  # servers before 1.36 let it through
    "41-overhead": "RuntimeClass",  # which the embedded server does not serve
}
"""What admission would keep from the node."""


async def play(story: Json, directory: Path, without: str = "") -> list[tuple[int, Json, Json]]:
    """What was seen after each step, and what was expected."""
    steps = story["story"]
    ends, lingers = (
        {name for step in steps for name in step["when"].get(what, ())}
        for what in ("pods end", "pods are deleted")
    )
    found = []
    async with world(directory, options(story["given"].get("node", {}))) as there:
        there.let_through(without)
        stage = Stage(there)
        for name, given in story["given"]["pods"].items():
            await stage.add(name, given, ends=name in ends, lingers=name in lingers)
        for number, step in enumerate(steps):
            await stage.forget_events()
            await stage.act(step["when"])
            expected = {key: _outside(key, value) for key, value in step["then"].items() if key not in INSIDE}
            seen = {key: await stage.seen(key, value) for key, value in expected.items()}
            found.append((number, seen, expected))
    return found


def _outside(key: str, value: Any) -> Any:
    """Killing is told among many other things there are to tell of a whole pod."""
    return [each for each in value if not each.endswith(" Killing")] if key == "events" else value


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_the_same_on_a_whole_node(name: str, tmp_path: Path) -> None:
    story = yaml.safe_load(STORIES[name].read_text(encoding="utf-8"))
    for number, seen, expected in run(play(story, tmp_path, WITHOUT.get(name, ""))):
        assert (number, seen) == (number, expected)
