"""Logs of pods that nobody knows."""

import asyncio
from pathlib import Path

import pytest

from flexlet.adapters.logfiles.leftovers import LogLeftovers
from flexlet.errors import HostError


def test_only_logs_of_unknown_pods_and_dead_links_go(tmp_path: Path) -> None:
    """What is not named as a pod's logs are stays, and so does a link that leads somewhere."""
    pods, links = tmp_path / "pods", tmp_path / "containers"
    for name in ("ns_old_uid-1/app", "ns_new_uid-2/app", "lost+found"):
        (pods / name).mkdir(parents=True)
    links.mkdir()
    for name in ("old", "new"):
        log = next(pods.glob(f"ns_{name}_*")) / "app/0.log"
        log.touch()
        (links / f"{name}.log").symlink_to(log)
    (links / "plain.log").touch()
    asyncio.run(LogLeftovers(pods, links).sweep({"uid-2"}))
    assert sorted(each.name for each in pods.iterdir()) == ["lost+found", "ns_new_uid-2"]
    assert sorted(each.name for each in links.iterdir()) == ["new.log", "plain.log"]


def test_there_may_be_no_logs_at_all(tmp_path: Path) -> None:
    asyncio.run(LogLeftovers(tmp_path / "pods", tmp_path / "containers").sweep(()))
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pods/ns_old_uid").mkdir(parents=True)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(HostError, match=r"Permission denied: .*/ns_old_uid"):
        asyncio.run(LogLeftovers(tmp_path / "pods", tmp_path / "containers").sweep(()))
