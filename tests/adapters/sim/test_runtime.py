"""What the simulated runtime does beyond the contract: time, trouble, and lives longer than an agent's."""

import asyncio

import pytest
from msgspec.structs import replace
from tests.adapters.sim.stage import PLENTY, POD, Stage

from flexlet.adapters.sim.images import Pull, made, normalised, unreachable
from flexlet.adapters.sim.programs import DEAF, FAILS, HOG, SUCCEEDS, Exec, Program
from flexlet.adapters.sim.runtime import SimRuntime
from flexlet.adapters.sim.trouble import Call, Crash
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.runtime.shown import Image
from flexlet.errors import RuntimeFault


async def moments(count: int = 10) -> None:
    """Let whoever can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("program", "end"),
    [
        (Program(runs_s=5, exit_code=3), ("EXITED", 3, "Error", 5.0)),
        (SUCCEEDS, ("EXITED", 0, "Completed", 0.0)),
        (FAILS, ("EXITED", 1, "Error", 0.0)),
        (DEAF, ("RUNNING", 0, "", 0.0)),
        (Program(memory=HOG.memory, memory_after_s=2), ("RUNNING", 0, "", 0.0)),
    ],
)
async def test_programs_end_at_their_time(
    stage: Stage, program: Program, end: tuple[str, int, str, float]
) -> None:
    """However late anybody looks; without a limit even a hog lives."""
    stage.node.programs.by_name["c"] = program
    container_id = await stage.start()
    stage.clock.advance(60)
    assert await stage.end(container_id) == end


async def test_each_run_may_have_its_own_program(stage: Stage) -> None:
    stage.node.programs.by_command["do",] = (FAILS, Program(runs_s=0, exit_code=2), SUCCEEDS)
    runs = [await stage.start("do", attempt=attempt) for attempt in range(4)]
    assert [(await stage.shown(each)).exit_code for each in runs] == [1, 2, 0, 0]


async def test_programs_print_and_leave_last_words(stage: Stage) -> None:
    stage.node.programs.by_image["busybox:1"] = Program(runs_s=1, exit_code=1, output="hello\n", last_words="bye")
    await stage.start()
    stage.clock.advance(1)
    await stage.runtime.overview()
    assert stage.printed() == "hello"


async def test_the_stop_signal_is_sent_once(stage: Stage) -> None:
    """A second call only waits, and kills when its own time is up, as containerd does."""
    container_id = await stage.sh("trap 'echo heard' TERM; while :; do sleep 1; done")
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.runtime.stop_container(container_id, 30))
        await moments()
        stage.clock.advance(3)
        await moments()
        group.create_task(stage.runtime.stop_container(container_id, 2))
        await moments()
        stage.clock.advance(2)
        await moments()
    assert await stage.end(container_id) == ("EXITED", 137, "Error", 5.0)
    assert stage.printed() == "heard"


async def test_commands_have_time_limits(stage: Stage) -> None:
    stage.node.programs.by_name["c"] = Program(execs={("probe",): Exec(stdout="out", exit_code=2, seconds=3)})
    container_id = await stage.start()
    asked = asyncio.ensure_future(stage.runtime.exec_sync(container_id, ("probe",), 10))
    await moments()
    stage.clock.advance(3)
    result = await asked
    assert (result.stdout, result.exit_code) == (b"out", 2)
    asked = asyncio.ensure_future(stage.runtime.exec_sync(container_id, ("probe",), 2))
    await moments()
    stage.clock.advance(2)
    with pytest.raises(RuntimeFault) as fault:
        await asked
    assert (fault.value.code, fault.value.detail) == (
        "DeadlineExceeded",
        "failed to exec in container: timeout 2s exceeded: context deadline exceeded",
    )


async def test_containers_outlive_the_runtime_and_the_agent(stage: Stage) -> None:
    """The runtime away, another agent: the same containers, and time has gone on for them."""
    container_id = await stage.sh("sleep 5; exit 3")
    stage.runtime.is_away = True
    with pytest.raises(RuntimeFault) as fault:
        await stage.runtime.overview()
    assert fault.value.code == "Unavailable"
    stage.clock.advance(60)
    second = SimRuntime(stage.node.containerd)
    (container,) = (await second.inspect("u1")).containers
    assert (container.id, container.exit_code, container.finished_at) == (
        container_id,
        3,
        1_800_000_005_000_000_000,
    )


async def test_calls_are_written_down(stage: Stage) -> None:
    await stage.start()
    await stage.runtime.overview()
    assert [call.method for call in stage.node.trouble.calls] == [
        "run_sandbox",
        "create_container",
        "start_container",
        "overview",
    ]
    assert stage.node.trouble.deeds[0] == Call("run_sandbox", (POD,))
    assert len(stage.node.trouble.deeds) == 3


async def test_the_nth_call_fails(stage: Stage) -> None:
    """Once, before anything is done."""
    stage.node.trouble.fail("start_container", RuntimeFault("shim is stuck"), nth=2)
    await stage.start(name="a")
    with pytest.raises(RuntimeFault, match="shim is stuck"):
        await stage.start(name="b")
    await stage.start(name="c")
    states = {each.name: each.state for each in (await stage.runtime.inspect("u1")).containers}
    assert states == {"a": "RUNNING", "b": "CREATED", "c": "RUNNING"}


async def test_an_answer_can_be_lost(stage: Stage) -> None:
    """The deed is done, only nobody heard of it: a repeated attempt finds its name taken."""
    stage.node.trouble.fail("run_sandbox", RuntimeFault("deadline", code="DeadlineExceeded"), lost_answer=True)
    with pytest.raises(RuntimeFault, match="deadline"):
        await stage.runtime.run_sandbox(POD)
    with pytest.raises(RuntimeFault, match='failed to reserve sandbox name "p_ns_u1_0"'):
        await stage.runtime.run_sandbox(POD)


async def test_the_agent_can_die_after_any_deed(stage: Stage) -> None:
    """Deeds of all ports count; looking does not. What was done is done, and it happens once."""
    stage.node.trouble.crash_after(2)
    await stage.node.cgroups.create("kubepods/podu1")
    await stage.runtime.overview()
    with pytest.raises(Crash, match="after run_sandbox"):
        await stage.runtime.run_sandbox(POD)
    assert len((await stage.runtime.inspect("u1")).sandboxes) == 1
    await stage.runtime.update_pod_cidr("10.0.0.0/24")
    await stage.node.cgroups.create("kubepods/podu2")


async def test_events_come_with_time(stage: Stage) -> None:
    """A listener hears of an end at its time, though nobody else looks."""
    await stage.sh("sleep 5")
    heard: list[tuple[float, str]] = []

    async def listen() -> None:
        async for uid in stage.runtime.events():
            heard.append((stage.clock.now() - 1_800_000_000, uid))  # noqa: PERF401 - the time matters

    listening = asyncio.ensure_future(listen())
    await moments()
    stage.clock.advance(5)
    await moments()
    listening.cancel()
    assert heard == [(5.0, "u1")]


async def test_pod_addresses(stage: Stage) -> None:
    """A pod has its own until its sandbox stops."""
    await stage.create()
    (sandbox,) = (await stage.runtime.inspect("u1")).sandboxes
    assert sandbox.ips == ("10.88.0.2",)
    await stage.runtime.stop_sandbox(sandbox.id)
    (sandbox,) = (await stage.runtime.inspect("u1")).sandboxes
    assert (sandbox.state, sandbox.ips, sandbox.has_network_status) == ("NOTREADY", (), True)


async def test_images_come_from_registries(stage: Stage) -> None:
    image = made("example.com/app:2")
    stage.node.images.pulls["example.com/app:2"] = Pull(seconds=4, image=image)
    pulling = asyncio.ensure_future(stage.runtime.pull("example.com/app:2", None, None))
    await moments()
    assert await stage.runtime.image("example.com/app:2") is None
    stage.clock.advance(4)
    assert await pulling == image.id
    assert await stage.runtime.image("example.com/app:2") == image
    await stage.runtime.remove_image(image.id)
    assert await stage.runtime.image("example.com/app:2") is None


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1", "docker.io/library/busybox:1"),
        ("me/app", "docker.io/me/app:latest"),
        ("localhost/app:1", "localhost/app:1"),
        ("r.io:5000/a/b", "r.io:5000/a/b:latest"),
        ("r.io/a@sha256:00", "r.io/a@sha256:00"),
    ],
)
def test_names_of_images_are_completed(name: str, full: str) -> None:
    assert normalised(name) == full


def test_a_registry_without_an_address() -> None:
    """The text of the recordings, but for the DNS server's address."""
    assert unreachable("busybox:1") == (
        'failed to pull and unpack image "docker.io/library/busybox:1": failed to resolve reference '
        '"docker.io/library/busybox:1": failed to do request: Head '
        '"https://registry-1.docker.io/v2/library/busybox/manifests/1": dial tcp: lookup registry-1.docker.io on '
        "10.0.0.53:53: no such host"
    )


async def test_resources_say_what_was_asked_for_last(stage: Stage) -> None:
    """Zero means as before, and a score is set at the start only."""
    first = replace(
        PLENTY, cpu_quota=Microseconds(10000), cpu_period=Microseconds(100000), memory_limit=Bytes(8 << 20)
    )
    container_id = await stage.start(resources=replace(first, oom_score_adj=500, hugepage_limits={"2MB": 0}))
    asked = replace(PLENTY, cpu_shares=CpuShares(512), oom_score_adj=3, unified={"memory.low": "4096"})
    await stage.runtime.update_container(container_id, asked)
    assert (await stage.shown(container_id)).resources == replace(
        first,
        cpu_shares=CpuShares(512),
        oom_score_adj=500,
        hugepage_limits={"2MB": 0},
        unified={"memory.low": "4096"},
    )
    files = ("cpu.weight", "cpu.max", "memory.max", "memory.low", "hugetlb.2MB.max")
    assert await stage.node.cgroups.read(f"kubepods/podu1/{container_id}", files) == {
        "cpu.weight": "20",
        "cpu.max": "10000 100000",
        "memory.max": str(8 << 20),
        "memory.low": "4096",
        "hugetlb.2MB.max": "max",
    }


async def test_cpu_time_is_counted(stage: Stage) -> None:
    stage.node.programs.by_name["c"] = Program(cpu_milli=500)
    container_id = await stage.start()
    stage.clock.advance(10)
    stat = await stage.node.cgroups.read(f"kubepods/podu1/{container_id}", ("cpu.stat",))
    assert stat["cpu.stat"].splitlines()[0] == "usage_usec 5000000"
    await stage.runtime.stop_container(container_id, 0)
    assert (await stage.node.cgroups.read("kubepods", ("cpu.stat",))) == {"cpu.stat": stat["cpu.stat"]}


async def test_an_image_id_is_a_name_too(stage: Stage) -> None:
    image = await stage.runtime.image("busybox:1")
    assert isinstance(image, Image)
    assert await stage.runtime.image(image.id) == image
