"""Every status that a kubelet 1.36.3 wrote in the recorded lives, rendered from what there was to know."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from tests.lives import recording, records
from tests.lives.differences import NOT_OURS
from tests.lives.matcher import Matcher

from flexlet.core.agent import status

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
    for moment in records.moments(recording.load(name), pod):
        told = status.render(moment.record, moment.setup, moment.now)
        settled = replace(moment.record, reported=told)
        again = status.render(settled, moment.setup, moment.now + 3600)
        assert status.same(told, again), moment.number


def _differences(name: str, pod: str) -> Iterator[tuple[int, list[str]]]:
    for moment in records.moments(recording.load(name), pod):
        rendered = status.render(moment.record, moment.setup, moment.now)
        if found := Matcher(records.CREATED).status(moment.recorded, rendered):
            yield moment.number, found
