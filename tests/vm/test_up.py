"""``flexlet up`` as a user runs it: started, stopped with Ctrl-C, started again, killed, started once more."""

import os
import signal
import time
from pathlib import Path

import pytest
from tests.vm.machine import Vm
from tests.vm.node import NAME, Node, Object, container, eventually, runs
from tests.vm.process import Up

from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.directory import place

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1800)]


def left_over(data: Path) -> list[str]:
    """Processes that mention the data, and sockets in it."""
    mentioned = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.parent.name != str(os.getpid()) and os.fsencode(data) in _read(path)
    ]
    return mentioned + [str(path) for path in data.rglob("*") if path.is_socket()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def test_a_cluster_comes_back(tmp_path: Path) -> None:
    """The pods of the last time run again, whether it ended with Ctrl-C or a kill; nothing else is left of it."""
    first = Up(tmp_path)
    try:
        first.ready()
        before = await _running(tmp_path, create=True)
        assert first.interrupt() == 0
    finally:
        first.end(signal.SIGKILL)
    assert left_over(tmp_path) == []

    second = Up(tmp_path)
    try:
        second.ready()
        again = await _running(tmp_path)
        _check_same(before, again)
    finally:
        assert second.end(signal.SIGKILL) == -signal.SIGKILL
    assert await eventually(lambda: _no_machine(tmp_path), 60.0)

    third = Up(tmp_path)
    try:
        third.ready()
        # A power cut may have taken from the runtime that the last run ever began.
        last = await _running(tmp_path)
        assert last["metadata"]["uid"] == before["metadata"]["uid"]
        assert runs(last)["c"]["restartCount"] >= runs(again)["c"]["restartCount"]
        assert third.interrupt() == 0
    finally:
        third.end(signal.SIGKILL)
    assert left_over(tmp_path) == []
    assert "Traceback" not in third.said()


async def _running(data: Path, *, create: bool = False) -> Object:
    """The one pod, ready, with a container that runs in this boot."""
    booted_at = time.strftime("%FT%TZ", time.gmtime(place(data, NAME).file("pid").stat().st_mtime))
    node = Node(data / "kubeconfig", Vm(data, place(data, NAME)))
    async with node.hands() as hands:
        if create:
            return await hands.start("kept", container(resources={"requests": {"cpu": "50m"}}))
        return await hands.until(
            "it runs again", "kept", lambda found: _began(found) >= booted_at and _is_ready(found)
        )


def _began(found: Object) -> str:
    return str(runs(found)["c"].get("state", {}).get("running", {}).get("startedAt", ""))


def _is_ready(found: Object) -> bool:
    return bool(runs(found)["c"]["ready"])


def _check_same(before: Object, now: Object) -> None:
    """The same pod, its container once more."""
    assert now["metadata"]["uid"] == before["metadata"]["uid"]
    assert runs(now)["c"]["restartCount"] == runs(before)["c"]["restartCount"] + 1


async def _no_machine(data: Path) -> bool:
    return not processes.running([place(data, NAME).file("pid")])
