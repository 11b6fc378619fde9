"""Kills on a full disk, and kills after which bytes change: a right answer or a refusal, every time."""

import shutil
from pathlib import Path

import pytest
from tests.apiserver.kills.campaign import Campaign
from tests.apiserver.kills.launcher import Ended, Launcher
from tests.campaign import length

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
DATABASE = "flexlet.db"
FILES = {DATABASE: 45, f"{DATABASE}-wal": 45, f"{DATABASE}-mark": 10}
"""How often which of them is damaged."""


@pytest.mark.parametrize("rounds", [length(30, 200)])
def test_killed_on_a_full_disk_nothing_acknowledged_is_lost(launch: Launcher, data: Path, rounds: int) -> None:
    """A write that was refused is not there, one that was acknowledged is, and the files are whole.

    A limit on the size of files stands for the disk: from the start on, around what the biggest file has, or
    later, around what the log grows to.
    """
    campaign = Campaign(launch, data)
    for number in range(rounds):
        assert campaign.round() is None
        if number % 2:
            ended = campaign.round(
                file_limit=biggest(data) + campaign.source.choice((-8192, -1, 0, 4096, 1 << 15))
            )
            if ended is not None:
                assert (ended.code, ended.output) == (1, "")
                assert_refusal(ended, data)
        else:
            assert campaign.round(later=campaign.source.randrange(100, 1 << 16) if number else 100) is None
        checked = campaign.check()
        assert (checked.code, checked.output.splitlines()[1:], checked.errors) == (0, ["nothing is damaged"], "")
    campaign.conclude()
    assert campaign.load.refused > 0
    assert campaign.load.acknowledged >= rounds


@pytest.mark.parametrize("rounds", [length(30, 200)])
def test_bytes_that_change_after_a_kill_end_in_a_right_answer_or_in_a_refusal(
    launch: Launcher, data: Path, rounds: int
) -> None:
    """In the data file, in its log or in its mark; and ``flexlet server check`` knows which it will be."""
    campaign = Campaign(launch, data)
    refused = 0
    for number in range(rounds):
        assert campaign.round() is None
        trial = data.with_name(f"trial{number}")
        shutil.copytree(data, trial, ignore=shutil.ignore_patterns("*-reserve", "*.sock"))
        flip(campaign, trial)
        refused += damage_is_refused(campaign, trial)
        shutil.rmtree(trial)
    campaign.conclude()
    assert refused > rounds / 8 - 1


def biggest(data: Path) -> int:
    return max((data / name).stat().st_size for name in FILES)


def flip(campaign: Campaign, directory: Path) -> None:
    """Change 1 to 64 bytes of one file."""
    source = campaign.source
    sizes = {name: (directory / name).stat().st_size for name in FILES}
    names = [name for name, size in sizes.items() if size]
    file = directory / source.choices(names, [FILES[name] for name in names])[0]
    content = bytearray(file.read_bytes())
    for _ in range(source.randint(1, 64)):
        content[source.randrange(len(content))] ^= source.randint(1, 255)
    file.write_bytes(content)


def damage_is_refused(campaign: Campaign, directory: Path) -> bool:
    """Start a server on files that may be damaged, and compare; whether it refused."""
    foretold = campaign.check(directory)
    with campaign.server(directory) as process:
        url = process.url()
        if isinstance(url, Ended):
            assert (foretold.code, url.code, url.output) == (3, 1, ""), (foretold, url)
            assert_refusal(url, directory)
            return True
        campaign.load.compare(url, settled=False)
        running = campaign.check(directory)
    assert (foretold.code, running.code) == (0, 0), (foretold, running)
    return False


def assert_refusal(ended: Ended, directory: Path) -> None:
    """One line that names the file and the way out."""
    assert ended.errors.startswith("error: cannot ")
    assert str(directory / DATABASE) in ended.errors
    assert "; " in ended.errors
    assert "Traceback" not in ended.errors
