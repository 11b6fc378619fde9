"""An agent that dies after any of its deeds is followed by one that brings the pod to the same end."""

from pathlib import Path

import pytest
from tests.engine.agent.deaths import SMALL, Json, Story, every_death
from tests.engine.agent.world import World, amounts, is_gone, is_ready, is_resized

from flexlet.testing import run

LEVEL = amounts("300m,96Mi", "400m,128Mi")
RESTARTED: Json = {
    "resources": SMALL,
    "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
}
GROWN: Json = {"spec": {"containers": [{"name": "a", "resources": amounts("150m,48Mi", "300m,96Mi")}]}}
GROWN_LEVEL: Json = {
    "spec": {
        "resources": amounts("400m,128Mi", "600m,192Mi"),
        "containers": [{"name": "a", "resources": amounts("50m,16Mi", "100m,32Mi")}],
    }
}


async def start(there: World, name: str) -> None:
    story = STORIES["start"]
    await there.create(name, story.containers, **story.spec)


async def resize(there: World, name: str) -> None:
    await there.cluster.resize(name, GROWN)


async def resize_level(there: World, name: str) -> None:
    await there.cluster.resize(name, GROWN_LEVEL)


async def stop(there: World, name: str) -> None:
    await there.cluster.delete(name)


STORIES = {
    "start": Story(
        start, is_ready, begins=True, initContainers=[{"name": "i", "image": "busybox:1", "command": ["true"]}]
    ),
    "resize": Story(resize, is_resized),
    "resize with restart": Story(resize, is_resized, RESTARTED, restartPolicy="OnFailure"),
    "pod-level resize": Story(resize_level, is_resized, resources=LEVEL),
    "stop": Story(stop, is_gone),
}
EXPECTED = {
    "start": {"i": 0, "a": 0, "b": 0},
    "resize": {"a": 0, "b": 0},
    "resize with restart": {"a": 1, "b": 0},
    "pod-level resize": {"a": 0, "b": 0},
    "stop": {},
}
"""How often containers were restarted."""


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_death_after_any_deed_changes_nothing_in_the_end(name: str, tmp_path: Path) -> None:
    """Same status, same cgroups, same records, every container once and none lost."""
    expected, others, deaths = run(every_death(tmp_path, STORIES[name]))
    assert others == {}
    assert deaths > 5
    restarts = {container: attempt for container, attempt, _ in expected["containers"]}
    assert restarts == EXPECTED[name]
