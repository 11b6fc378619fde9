"""Every status that a kubelet 1.36.3 wrote in the recorded lives, rendered from what there was to know."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.lives import recording, records
from tests.lives.differences import NOT_OURS
from tests.lives.matcher import Matcher

from flexlet.api import decode
from flexlet.api.nodepod import NodePod
from flexlet.core.agent import status
from flexlet.core.agent.record import PodRecord
from flexlet.core.runtime.shown import RuntimePod

LIVES = [(name, pod) for name in recording.names() for pod in recording.load(name).manifests]


@pytest.mark.parametrize(("name", "pod"), LIVES)
def test_a_recorded_status_is_rendered_again(name: str, pod: str) -> None:
    """From the runtime's state and the status before follows the status that was written, times included."""
    found = {(name, pod, number): told for number, told in _differences(name, pod)}
    assert found.keys() - NOT_OURS.keys() == set(), found
    assert found.keys() == {key for key in NOT_OURS if key[:2] == (name, pod)}


@pytest.mark.parametrize(("name", "pod"), LIVES)
def test_what_was_rendered_is_no_news_when_rendered_again(name: str, pod: str) -> None:
    """A status that the API has makes the next one the same, whenever that is: nothing is reported twice."""
    for moment in records.moments(name, pod):
        told = status.render(moment.record, moment.setup, moment.now)
        settled = replace(moment.record, reported=told)
        again = status.render(settled, moment.setup, moment.now + 3600)
        assert status.same(told, again), moment.number


@pytest.mark.parametrize(("name", "pod"), LIVES)
def test_an_agent_that_restarts_says_the_same(name: str, pod: str) -> None:
    """From the API's copy alone, before anything was probed; of an ended pod even if the runtime forgot it."""
    late = replace(records.SETUP, started_at=records.CREATED + 10**6)
    for moment in records.moments(name, pod):
        told = status.render(moment.record, moment.setup, moment.now)
        copy = decode.from_value({"status": told}, NodePod).status
        known = replace(moment.record.pod, status=copy)
        fresh = replace(moment.record, pod=known, mirror=None, reported=None, probes={})
        forgotten = replace(fresh, shown=RuntimePod("uid"), cgroup=None)
        for again in (fresh, forgotten) if fresh.stopped else (fresh,):
            assert _settled(again, status.render(again, late, moment.now + 3600)) == _settled(again, told)


def _settled(record: PodRecord, told: dict[str, Any]) -> dict[str, Any]:
    """A resize that was under way at the end of a pod is no longer told of."""
    ended_halfway = record.stopped and record.allocation != record.actuated
    return {key: value for key, value in told.items() if key != "resources" or not ended_halfway}


def _differences(name: str, pod: str) -> Iterator[tuple[int, list[str]]]:
    for moment in records.moments(name, pod):
        rendered = status.render(moment.record, moment.setup, moment.now)
        if found := Matcher(records.CREATED).status(moment.recorded, rendered):
            yield moment.number, found
