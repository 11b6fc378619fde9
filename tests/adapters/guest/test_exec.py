"""The exec client and server together, over a wire that behaves like a virtio-serial port."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.guest.wiring import Wire, guest_server

from flexlet.adapters import unixsocket
from flexlet.adapters.guest import wire
from flexlet.adapters.guest.client import Completed, Guest
from flexlet.errors import HypervisorError, HypervisorGone


@pytest_asyncio.fixture
async def port(tmp_path: Path) -> AsyncIterator[Wire]:
    async with guest_server(tmp_path / "exec.sock") as running:
        yield running


@pytest_asyncio.fixture
async def guest(port: Wire, tmp_path: Path) -> AsyncIterator[Guest]:
    del port  # it only has to be there
    async with Guest([tmp_path / "exec.sock"]) as client:
        yield client


def shell(text: str, *words: str) -> list[str]:
    return ["sh", "-c", text, "sh", *words]


async def test_a_command_gives_its_output_and_its_exit_code(guest: Guest) -> None:
    done = await guest.run(shell("echo out; echo err >&2; exit 7"))
    assert done == Completed(7, b"out\n", b"err\n")


async def test_input_reaches_the_command_and_ends(guest: Guest) -> None:
    assert await guest.run(["wc", "-c"], stdin=b"12345") == Completed(0, b"5\n")


async def test_environment_and_directory_are_as_asked(guest: Guest, tmp_path: Path) -> None:
    done = await guest.run(shell('echo "$COLOUR"; pwd'), env={"COLOUR": "blue"}, cwd=str(tmp_path))
    assert done == Completed(0, f"blue\n{tmp_path}\n".encode())


async def test_a_missing_command_fails_as_in_a_shell(guest: Guest) -> None:
    done = await guest.run(["/no/such/command"])
    assert (done.exit_code, done.stdout) == (127, b"")
    assert b"/no/such/command" in done.stderr


async def test_a_file_that_is_no_program_fails_as_in_a_shell(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a program")
    assert (await guest.run([str(tmp_path / "text")])).exit_code == 126


async def test_a_killed_command_reports_its_signal(guest: Guest) -> None:
    running = await guest.start(["sleep", "100"])
    await running.kill(signal.SIGTERM)
    assert await running.wait() == 128 + signal.SIGTERM


async def test_many_commands_run_at_once(guest: Guest) -> None:
    """Eight commands that wait for each other through a file would never end one after the other."""
    first = await guest.start(["cat"])
    others = await asyncio.gather(*(guest.run(shell("echo $1", str(n))) for n in range(8)))
    assert others == [Completed(0, f"{n}\n".encode()) for n in range(8)]
    await first.finish_input()
    assert await first.wait() == 0


async def test_much_more_than_the_window_goes_both_ways(guest: Guest) -> None:
    data = os.urandom(5 * wire.WINDOW + 17)
    assert await guest.run(["cat"], stdin=data) == Completed(0, data)


async def test_output_that_nobody_reads_does_not_hold_up_others(guest: Guest) -> None:
    flood = await guest.start(["cat", "/dev/zero"])
    assert await guest.run(["echo", "here"]) == Completed(0, b"here\n")
    await flood.kill(signal.SIGKILL)
    assert await flood.wait() == 128 + signal.SIGKILL


async def test_input_that_nobody_reads_stops_the_writer_only(guest: Guest) -> None:
    deaf = await guest.start(["sleep", "100"])
    writing = asyncio.create_task(deaf.write(bytes(4 * wire.WINDOW)))
    assert await guest.run(["echo", "here"]) == Completed(0, b"here\n")
    assert not writing.done()
    await deaf.kill(signal.SIGKILL)
    assert await deaf.wait() == 128 + signal.SIGKILL
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


async def test_a_command_that_closes_its_input_ends_anyway(guest: Guest) -> None:
    done = await guest.run(shell("exec <&-; echo closed"), stdin=bytes(4 * wire.WINDOW))
    assert done == Completed(0, b"closed\n")


async def test_a_child_in_the_background_does_not_hold_the_command_up(guest: Guest) -> None:
    done = await guest.run(shell("sleep 100 & echo $!"))
    assert done.exit_code == 0
    os.kill(int(done.stdout), signal.SIGKILL)


async def test_all_output_is_there_when_the_command_has_ended(guest: Guest) -> None:
    """Also when far more is in the pipes at the end than the window lets through."""
    size = 3 * wire.WINDOW
    done = await guest.run(shell("head -c $1 /dev/zero; head -c $1 /dev/zero >&2; sleep 100 &", str(size)))
    assert (len(done.stdout), len(done.stderr)) == (size, size)


async def test_a_command_that_takes_too_long_is_killed(guest: Guest) -> None:
    with pytest.raises(HypervisorError, match=r"sleep 100 did not end within 0\.2 s"):
        await guest.run(["sleep", "100"], patience_s=0.2)
    assert await guest.run(["echo", "next"]) == Completed(0, b"next\n")


async def test_files_go_in_and_out(guest: Guest, tmp_path: Path) -> None:
    data = os.urandom(3 * wire.WINDOW)
    (tmp_path / "source").write_bytes(data)
    place = tmp_path / "deep" / "er" / "file"
    inside = str(place)
    await guest.send_file(tmp_path / "source", inside, 0o640)
    await guest.fetch_file(inside, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == data
    assert place.stat().st_mode & 0o777 == 0o640
    await guest.write_file(inside, b"short")
    assert await guest.read_file(inside) == b"short"


async def test_a_file_that_cannot_be_read_says_why(guest: Guest, tmp_path: Path) -> None:
    with pytest.raises(HypervisorError, match="No such file"):
        await guest.read_file(str(tmp_path / "nothing"))
    with pytest.raises(HypervisorError, match="No such file"):
        await guest.fetch_file(str(tmp_path / "nothing"), tmp_path / "back")


async def test_a_terminal_is_one(guest: Guest) -> None:
    running = await guest.start(shell("test -t 0 && stty size && read -r line && echo got $line"), tty=(33, 99))
    await running.write(b"word\n")
    text = b"".join([data async for _, data in running.output()])
    assert text.replace(b"\r\n", b"\n") in {b"33 99\nword\ngot word\n", b"word\n33 99\ngot word\n"}
    assert await running.wait() == 0


async def test_a_resized_terminal_tells_the_command(guest: Guest) -> None:
    running = await guest.start(shell("read -r _; stty size"), tty=(10, 10))
    await running.resize(40, 120)
    await running.write(b"\n")
    text = b"".join([data async for _, data in running.output()])
    assert text.endswith(b"40 120\r\n")


async def test_control_c_reaches_what_runs_in_a_terminal(guest: Guest) -> None:
    running = await guest.start(["cat"], tty=(10, 10))
    await running.write(b"hello\n")
    seen = b""
    async for _, data in running.output():
        seen += data
        if seen.count(b"hello") == 2:  # the terminal's echo and the command's own answer: it runs
            await running.write(b"\x03")
    assert await running.wait() == 128 + signal.SIGINT


async def test_a_lost_connection_ends_its_commands_and_the_next_one_works(guest: Guest, port: Wire) -> None:
    """Nobody knows what came of the command; the guest kills it when the next client says hello."""
    running = await guest.start(shell("echo $$; exec sleep 100"))
    async for _, data in running.output():
        pid = int(data)
        port.clients[0].close()
        break
    with pytest.raises(HypervisorGone):
        await running.wait()
    assert await guest.run(["echo", "again"]) == Completed(0, b"again\n")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_leftovers_of_an_earlier_client_do_not_disturb(guest: Guest, port: Wire) -> None:
    """Half a line and a command nobody waits for are in the port when a client comes."""
    await port.inject(wire.encode({"id": 1, "run": ["cat", "/dev/zero"]}) + b'{"id": 2, "ru')
    assert await guest.run(["echo", "clean"]) == Completed(0, b"clean\n")


async def test_what_makes_no_sense_is_dropped(guest: Guest, port: Wire) -> None:
    await guest.connect()
    for nonsense in (b"\xff\x00{", b"[1]", b'{"id": []}', b'{"id": 9, "in": "x"}', b'{"id": 3, "run": 4}'):
        await port.inject(nonsense + b"\n")
    assert await guest.run(["echo", "fine"]) == Completed(0, b"fine\n")


async def test_a_second_client_takes_another_port(tmp_path: Path) -> None:
    """Each port has one client; when all are taken, that is said at once."""
    sockets = [tmp_path / "exec.sock", tmp_path / "exec-1.sock"]
    async with guest_server(sockets[0]), guest_server(sockets[1]), Guest(sockets) as one, Guest(sockets) as two:
        assert await one.run(["echo", "1"]) == await two.run(["echo", "1"]) == Completed(0, b"1\n")
        async with Guest(sockets) as three:
            with pytest.raises(HypervisorError, match="all 2 exec ports of the machine are in use"):
                await three.connect()
        await two.close()
        async with Guest(sockets) as three:
            assert await three.run(["echo", "3"]) == Completed(0, b"3\n")


async def test_a_guest_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    with unixsocket.listening(tmp_path / "exec.sock"):
        async with Guest([tmp_path / "exec.sock"]) as guest:
            with pytest.raises(HypervisorGone, match=r"not answered within 0\.1 s"):
                await guest.connect(0.1)


async def test_no_machine_is_reported(tmp_path: Path) -> None:
    async with Guest([tmp_path / "exec.sock"]) as guest:
        with pytest.raises(HypervisorGone, match="is the machine running"):
            await guest.connect(0.1)


@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9), min_size=1), max_size=5), st.data())
def test_messages_survive_any_cut(messages: list[dict[str, str]], data: st.DataObject) -> None:
    """However the bytes are cut on their way, the same messages come out."""
    stream = b"".join(map(wire.encode, messages))
    cut = data.draw(st.integers(0, len(stream)))
    lines = wire.Lines()
    assert lines.feed(stream[:cut]) + lines.feed(stream[cut:]) == messages


@given(st.binary())
def test_payloads_survive(data: bytes) -> None:
    assert wire.unpack(wire.pack(data)) == data
