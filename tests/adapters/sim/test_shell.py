"""Scripts of manifests do in simulated time what they do in real time."""

import asyncio

import pytest
from tests.adapters.sim.stage import Stage

from flexlet.core.runtime.configs import Mount
from flexlet.errors import RuntimeFault

VOLUME = (Mount(container_path="/d", host_path="/host/d"),)


@pytest.mark.parametrize(
    ("script", "end"),
    [
        ("true", (0, "Completed", 0)),
        ("exit 7", (7, "Error", 0)),
        ("sleep 2", (0, "Completed", 2)),
        ("sleep 2; exit 5", (5, "Error", 2)),
        ("sleep 1.5 && false", (1, "Error", 1.5)),
        ("false || sleep 3", (0, "Completed", 3)),
        ("sleep 1 & sleep 5 & wait", (0, "Completed", 5)),
        ("(sleep 2; exit 4)", (4, "Error", 2)),
        ("{ sleep 1; exit 3; }; sleep 9", (3, "Error", 1)),
        ("if [ -e /x ]; then exit 1; elif [ 2 -gt 1 ]; then exit 2; else exit 3; fi", (2, "Error", 0)),
        ("n=0; while [ $n -lt 3 ]; do sleep 1; n=$((n+1)); done; exit $n", (3, "Error", 3)),
        ("until [ -e /tmp/x ]; do sleep 2; touch /tmp/x; done", (0, "Completed", 2)),
        ("for i in 1 2 3; do sleep $i; done", (0, "Completed", 6)),
        ("! true", (1, "Error", 0)),
        ("sh -c 'exit 6'; exit $?", (6, "Error", 0)),
        ("exec sleep 4", (0, "Completed", 4)),
        ("nosuchcommand", (127, "Error", 0)),
        ("x=$(echo 5); exit $x", (5, "Error", 0)),
        ("cat /etc/nothing || exit 9", (9, "Error", 0)),
        ("echo 'oops", (2, "Error", 0)),
    ],
)
async def test_how_a_script_ends(stage: Stage, script: str, end: tuple[int, str, float]) -> None:
    container_id = await stage.sh(script)
    stage.clock.advance(100)
    assert await stage.end(container_id) == ("EXITED", *end)


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("echo one two", "one two"),
        ("echo -n one; echo two", "onetwo"),
        ("echo 'a  b' \"c  $HOME\"d", "a  b c  d"),
        ("x='1  2'; echo $x \"$x\"", "1 2 1  2"),
        ("echo ${x:-none} $((2 * 3 + 1))", "none 7"),
        ("echo a > /f; echo b >> /f; cat /f", "a\nb"),
        ("echo a; echo b >&2", "a\nb"),
        ("echo gone > /dev/null; echo there", "there"),
        ("cat /nothing 2>/dev/null; echo $?", "1"),
        ("cat /nothing", "cat: can't open '/nothing': No such file or directory"),
        ("echo x | cat", "x"),
        ("printf '%s-%d\\n' a 5", "a-5"),
        ("echo a # not this", "a"),
        ("nosuch", "sh: nosuch: not found"),
        ("echo $(sleep 1; echo late)", "late"),
    ],
)
async def test_what_a_script_prints(stage: Stage, script: str, printed: str) -> None:
    container_id = await stage.sh(script)
    stage.clock.advance(10)
    assert (await stage.shown(container_id)).state == "EXITED"
    assert stage.printed() == printed


@pytest.mark.parametrize(
    ("script", "end"),
    [
        pytest.param("trap 'exit 0' TERM; sleep 100000 & wait", (0, "Completed", 10), id="listens while it waits"),
        pytest.param("trap 'sleep 1; exit 3' TERM; sleep 1000 & wait", (3, "Error", 11), id="takes its time"),
        pytest.param("trap 'exit 0' TERM; sleep 14", (0, "Completed", 14), id="hears when the command is done"),
        pytest.param("trap '' TERM; sleep 1000", (137, "Error", 30), id="ignores it"),
        pytest.param("sleep 1000", (137, "Error", 30), id="a first process without a trap does not hear"),
        pytest.param("trap 'echo no' TERM; while :; do sleep 5; done", (137, "Error", 30), id="hears and goes on"),
    ],
)
async def test_being_asked_to_stop(stage: Stage, script: str, end: tuple[int, str, float]) -> None:
    """A trap runs between commands or during wait; init processes are deaf to what they have no trap for."""
    container_id = await stage.sh(script)
    stage.clock.advance(10)
    await stop(stage, container_id, seconds=20)
    assert await stage.end(container_id) == ("EXITED", *end)


async def stop(stage: Stage, container_id: str, seconds: int) -> None:
    """Stop a container, and let the time pass that it takes."""
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.runtime.stop_container(container_id, seconds))
        for _ in range(seconds * 2 + 1):
            for _ in range(5):
                await asyncio.sleep(0)
            stage.clock.advance(0.5)


async def test_volumes_outlive_a_run_and_other_files_do_not(stage: Stage) -> None:
    script = "[ -e /d/x ] || { touch /d/x /own; exit 4; }; [ -e /own ] && exit 5"
    runs = [await stage.sh(script, attempt=attempt, mounts=VOLUME) for attempt in (0, 1)]
    codes = [(await stage.shown(each)).exit_code for each in runs]
    assert codes == [4, 1]
    assert stage.files.texts["/host/d/x"] == ""


async def test_counting_in_a_file(stage: Stage) -> None:
    script = "n=$(cat /d/n 2>/dev/null || echo 0); echo $((n+1)) > /d/n; [ $n -ge 2 ]"
    runs = [await stage.sh(script, attempt=attempt, mounts=VOLUME) for attempt in range(4)]
    assert [(await stage.shown(each)).exit_code for each in runs] == [1, 1, 0, 0]


async def test_background_jobs_go_on_meanwhile(stage: Stage) -> None:
    script = "(sleep 25; touch /ok; sleep 20; rm /ok) & sleep 100000 & wait"
    container_id = await stage.sh(script)
    seen = []
    for _ in range(5):
        seen.append((await stage.runtime.exec_sync(container_id, ("cat", "/ok"), 5)).exit_code)
        stage.clock.advance(12)
    assert seen == [1, 1, 1, 0, 1]


async def test_a_loop_that_never_sleeps_is_an_error(stage: Stage) -> None:
    """It would stop simulated time for everybody."""
    container_id = await stage.sh("while :; do :; done")
    assert await stage.end(container_id) == ("EXITED", 2, "Error", 0.0)


@pytest.mark.parametrize("command", ["/no/such/binary", "nosuch"])
async def test_other_binaries_are_not_there(stage: Stage, command: str) -> None:
    why = {
        "/no/such/binary": 'exec: "/no/such/binary": stat /no/such/binary: no such file or directory',
        "nosuch": 'exec: "nosuch": executable file not found in $PATH',
    }[command]
    with pytest.raises(RuntimeFault) as fault:
        await stage.start(command)
    assert fault.value.code == "Unknown"
    assert fault.value.detail == (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create "
        f"failed: unable to start container process: {why}: unknown"
    )
