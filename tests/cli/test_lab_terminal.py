"""A command in the guest, joined to a terminal, a pipe and a file of ours."""

import asyncio
import os
import signal
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.adapters.guest.wiring import guest_server

from flexlet.adapters.guest.client import Guest
from flexlet.cli.lab.terminal import run


@pytest_asyncio.fixture
async def guest(tmp_path: Path) -> AsyncIterator[Guest]:
    async with guest_server(tmp_path / "exec.sock"), Guest([tmp_path / "exec.sock"]) as client:
        yield client


async def test_output_and_exit_code_are_the_commands(guest: Guest, capfd: pytest.CaptureFixture[str]) -> None:
    code = await run(guest, ["sh", "-c", "echo out; echo err >&2; exit 9"], stdin=False, tty=False)
    printed = capfd.readouterr()
    assert (code, printed.out, printed.err) == (9, "out\n", "err\n")


async def test_without_stdin_the_command_sees_its_end(guest: Guest) -> None:
    assert await run(guest, ["cat"], stdin=False, tty=False) == 0


async def test_a_file_is_passed_on(
    guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file is always ready, and cannot be waited for as a pipe can."""
    (tmp_path / "input").write_text("from a file\n" * 20000)
    with (tmp_path / "input").open() as source:
        monkeypatch.setattr(sys, "stdin", source)
        assert await run(guest, ["sha256sum"], stdin=True, tty=False) == 0
    monkeypatch.undo()
    assert len(capfd.readouterr().out.split()[0]) == 64


async def test_a_pipe_is_passed_on(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"through a pipe\n")
    os.close(theirs)
    with os.fdopen(ours) as source:
        monkeypatch.setattr(sys, "stdin", source)
        assert await run(guest, ["cat"], stdin=True, tty=False) == 0
    monkeypatch.undo()
    assert capfd.readouterr().out == "through a pipe\n"


@pytest.fixture(params=[signal.SIG_DFL, signal.SIG_IGN], ids=["heeded", "ignored by the server"])
def interrupt(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the server's process does with SIGINT: one that a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupt")
async def test_a_terminal_is_passed_on_key_by_key(
    guest: Guest, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C goes to the command, and our terminal is as it was afterwards."""
    ours, theirs = os.openpty()
    before = termios.tcgetattr(theirs)
    with os.fdopen(theirs) as source:
        monkeypatch.setattr(sys, "stdin", source)
        running = asyncio.create_task(run(guest, ["cat"], stdin=True, tty=True))
        os.write(ours, b"typed\r")
        printed = ""
        while printed.count("typed") < 2:  # the guest's echo and the command's own answer
            await asyncio.sleep(0.02)
            printed += capfd.readouterr().out
        os.write(ours, b"\x03")
        assert await running == 130
        assert termios.tcgetattr(theirs) == before
    monkeypatch.undo()
    os.close(ours)
