"""Lifecycle hooks on an agent: what the journal says of them, and what people are told."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.nodes import Node, node, plain, run

from flexlet.core.journal import words
from flexlet.core.journal.entry import LEARNED, TOLD, Entry


def hooked(**hooks: Any) -> dict[str, Any]:
    """A spec whose only container has these hooks, and a long grace."""
    (app,) = plain("web")["spec"]["containers"]
    return {"containers": [app | {"lifecycle": hooks}], "terminationGracePeriodSeconds": 200}


def told(at: Node, uid: str) -> list[str]:
    """The journal's sentences about hooks, and events about them."""
    entries = [Entry(*each) for each in at.journal.entries]
    about = [each for each in entries if each.subject == uid and isinstance(each.what, dict)]
    kept = [
        each
        for each in about
        if (each.kind == LEARNED and each.what["type"] == "Hook")
        or (each.kind == TOLD and "Hook" in each.what["reason"])
    ]
    return [words.sentence(each) for each in kept]


@pytest.mark.parametrize(
    ("hooks", "sentences"),
    [
        (
            {"postStart": {"sleep": {"seconds": 2}}, "preStop": {"sleep": {"seconds": 3}}},
            [
                "the postStart hook of app started",
                "the postStart hook of app succeeded [2.000 s]",
                "the preStop hook of app started",
                "the preStop hook of app succeeded [3.000 s]",
            ],
        ),
        (
            {"preStop": {"sleep": {"seconds": 100}}},
            [
                "the preStop hook of app started",
                "the preStop hook of app was abandoned: it did not complete in the grace period [5.000 s]",
                "Warning event FailedPreStopHook: PreStopHook failed",
            ],
        ),
    ],
)
def test_hooks_are_in_the_journal_from_start_to_end(
    hooks: dict[str, Any], sentences: list[str], tmp_path: Path
) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            uid = await at.pod("web", **hooked(**hooks))
            await at.passes(5)
            await at.cluster.delete("web", grace_s=5)
            await at.passes(20)
            assert told(at, uid) == sentences

    run(tale())


def test_a_hook_that_fails_says_why_in_the_journal_and_not_in_the_event(tmp_path: Path) -> None:
    """What a hook says may be secret; the journal stays on the node."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            spec = hooked(postStart={"httpGet": {"port": 80, "path": "/x"}}) | {"restartPolicy": "Never"}
            uid = await at.pod("web", **spec)
            await at.passes(1)
            started, failed, event = told(at, uid)[:3]
            assert (started, event) == (
                "the postStart hook of app started",
                "Warning event FailedPostStartHook: PostStartHook failed",
            )
            assert failed.startswith("the postStart hook of app failed: HTTP lifecycle hook (/x) for Container")

    run(tale())
