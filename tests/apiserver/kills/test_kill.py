"""`kill -9` under HTTP write load: no write that a client was told of is lost, whatever the moment."""

from pathlib import Path

import pytest
from tests.apiserver.kills.campaign import Campaign
from tests.apiserver.kills.launcher import Launcher

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROUNDS = 200


def test_killed_at_any_moment_nothing_acknowledged_is_lost(launch: Launcher, data: Path) -> None:
    """After every kill clients find every object as they were told, or as they asked last unanswered."""
    campaign = Campaign(launch, data)
    for number in range(ROUNDS):
        if number % 10 == 1:
            campaign.killed_while_it_starts()
        assert campaign.round(fresh=number % 50 == 49) is None
    campaign.conclude()
    assert campaign.load.acknowledged >= ROUNDS
    assert campaign.load.refused == 0
