"""A machine's console through a server and a node: keys go in, output comes out, Ctrl-] leaves."""

import asyncio
import os
import sys
import termios
from pathlib import Path

import pytest
from tests.adapters.kube.fakenode import SUCCESS, Running, failed, fake_node

from flexlet.adapters.kube.exec import Exec
from flexlet.cli.vm.console import COMMAND, joined


async def guest(running: Running) -> bytes:
    """Greets, echoes, and shuts down when told to."""
    await running.say("stdout", b"login: ")
    async for piece in running.input():
        await running.say("stdout", piece)
        if b"halt" in piece:
            break
    return SUCCESS


async def test_keys_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is the guest's; the terminal is as it was afterwards."""
    ours, theirs = os.openpty()
    before = termios.tcgetattr(theirs)
    async with fake_node(tmp_path) as node:
        node.program = guest
        with os.fdopen(theirs) as source:
            monkeypatch.setattr(sys, "stdin", source)
            async with (
                Exec(node.credentials()) as client,
                client.start("default", "db", "compute", COMMAND) as process,
            ):
                session = asyncio.create_task(joined(process))
                printed = ""
                for keys, seen in ((b"", "login: "), (b"root\x03", "root\x03")):
                    os.write(ours, keys)
                    while seen not in printed:
                        await asyncio.sleep(0.02)
                        printed += capfd.readouterr().out
                os.write(ours, b"\x1d")
                assert await session == 0
            assert termios.tcgetattr(theirs) == before
            monkeypatch.undo()
    os.close(ours)
    assert (printed, node.asked) == ("login: root\x03", [("/exec/default/db/compute", list(COMMAND))])


async def test_a_pipe_and_the_end_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The end of our input is not the end of the console."""
    ours, theirs = os.pipe()
    os.write(theirs, b"halt\n")
    os.close(theirs)
    async with fake_node(tmp_path) as node:
        node.program = guest
        with os.fdopen(ours) as source:
            monkeypatch.setattr(sys, "stdin", source)
            async with (
                Exec(node.credentials()) as client,
                client.start("default", "db", "compute", COMMAND) as process,
            ):
                assert await joined(process) == 0
            monkeypatch.undo()
    assert capfd.readouterr().out == "login: halt\n"


async def test_a_console_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The launcher says why, and its code is ours."""

    async def refuses(running: Running) -> bytes:
        await running.say("stderr", b"error: no console\n")
        return failed(1)

    with (tmp_path / "empty").open("w+") as source:
        async with fake_node(tmp_path) as node:
            node.program = refuses
            monkeypatch.setattr(sys, "stdin", source)
            async with (
                Exec(node.credentials()) as client,
                client.start("default", "db", "compute", COMMAND) as process,
            ):
                assert await joined(process) == 1
            monkeypatch.undo()
    assert capfd.readouterr().err == "error: no console\n"
