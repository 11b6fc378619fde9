"""What every `flexlet.ports.runtime.Runtime` does."""

import asyncio
from typing import Final

from msgspec.structs import replace

from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups import cpu
from flexlet.core.runtime.configs import ImageSource, Mount
from flexlet.core.runtime.shown import CREATED, EXITED, NOT_READY, READY, RUNNING, Glimpse
from flexlet.errors import RuntimeFault
from flexlet.testing.checks import Broken, Check, expect, expect_fault
from flexlet.testing.runtime_bench import MODEST, RuntimeBench, TestPod

NOWHERE: Final = "registry.invalid/no/such:1"


async def it_introduces_itself_and_feels_well(bench: RuntimeBench) -> None:
    """Its name is the prefix of container ids; without the condition no pod would be started."""
    version = await bench.runtime.version()
    expect(version.name in {"containerd", "cri-o"} and bool(version.version), True, str(version))
    expect((await bench.runtime.status()).condition("RuntimeReady").status, True, "RuntimeReady")
    expect(await bench.runtime.cgroup_driver() in {None, "cgroupfs", "systemd"}, True, "cgroup driver")


async def images_are_found_by_any_name(bench: RuntimeBench) -> None:
    """By the name a user writes, by the full name, by the id; what is not here is None and no fault."""
    image = await bench.runtime.image(bench.image)
    if image is None:
        raise Broken(f"{bench.image} is not here")
    expect(await bench.runtime.image(image.id), image)
    expect(image.id in {each.id for each in await bench.runtime.images()}, True, "among all images")
    expect(await bench.runtime.image(NOWHERE), None)
    expect(bool(await bench.runtime.image_filesystems()), True, "image file systems")


async def a_pull_from_nowhere_fails_with_the_name(bench: RuntimeBench) -> None:
    """The text goes into the pod's status as it is."""
    message = await expect_fault(RuntimeFault, bench.runtime.pull(NOWHERE, None, None), code="Unknown")
    expect(f'failed to pull and unpack image "{NOWHERE}": ' in message, True, message)


async def a_sandbox_s_life(bench: RuntimeBench) -> None:
    """Ready until it is stopped, shown until it is removed; stopping and removing may be repeated."""
    async with TestPod(bench) as pod:
        (sandbox,) = (await pod.inspect()).sandboxes
        expect((sandbox.id, sandbox.uid, sandbox.name), (pod.sandbox_id, pod.uid, pod.config.name))
        expect((sandbox.state, sandbox.attempt, sandbox.network), (READY, 0, "NODE"))
        expect((sandbox.labels["of"], sandbox.annotations["note"]), ("sandbox", "sandbox"))
        glimpse = Glimpse(pod.uid, pod.sandbox_id, READY, is_sandbox=True)
        expect(glimpse in await bench.runtime.overview(), True, "seen in the overview")
        await bench.runtime.stop_sandbox(pod.sandbox_id)
        await bench.runtime.stop_sandbox(pod.sandbox_id)
        (sandbox,) = (await pod.inspect()).sandboxes
        expect(sandbox.state, NOT_READY)
        await bench.runtime.remove_sandbox(pod.sandbox_id)
        await bench.runtime.remove_sandbox(pod.sandbox_id)
        expect((await pod.inspect()).sandboxes, ())


async def names_are_reserved(bench: RuntimeBench) -> None:
    """A repeated attempt is refused; the next one is taken, and comes first."""
    async with TestPod(bench) as pod:
        message = await expect_fault(RuntimeFault, bench.runtime.run_sandbox(pod.config))
        expect("failed to reserve sandbox name" in message, True, message)
        newer = await bench.runtime.run_sandbox(replace(pod.config, attempt=1))
        expect([each.id for each in (await pod.inspect()).sandboxes], [newer, pod.sandbox_id])


async def a_container_s_life(bench: RuntimeBench) -> None:
    """Created, running, exited, gone, each with its times; a polite process ends with its own code."""
    async with TestPod(bench) as pod:
        container_id = await pod.create()
        created = await pod.shown(container_id)
        expect((created.name, created.state, created.sandbox_id), ("c", CREATED, pod.sandbox_id))
        expect((created.labels["of"], created.annotations["note"]), ("container", "container"))
        expect((created.started_at, created.finished_at, created.created_at > 0), (0, 0, True))
        await bench.runtime.start_container(container_id)
        running = await pod.shown(container_id)
        expect((running.state, running.started_at >= running.created_at), (RUNNING, True))
        await bench.wait(1)
        await bench.runtime.stop_container(container_id, 20)
        exited = await pod.shown(container_id)
        expect((exited.state, exited.exit_code, exited.reason), (EXITED, 0, "Completed"))
        expect(exited.finished_at >= exited.started_at, True, "its end comes last")
        await bench.runtime.stop_container(container_id, 20)
        await bench.runtime.remove_container(container_id)
        await bench.runtime.remove_container(container_id)
        expect((await pod.inspect()).containers, ())


async def exit_codes_and_output_are_kept(bench: RuntimeBench) -> None:
    """A process that ends by itself leaves its code, and what it printed, with the time before each line."""
    async with TestPod(bench) as pod:
        container_id = await pod.start("echo hello; echo oh dear >&2; exit 3")
        exited = await pod.until(container_id, lambda container: container.state == EXITED)
        expect((exited.exit_code, exited.reason), (3, "Error"))
        text = await bench.read_file(exited.log_path)
        lines = sorted(line.split(" ", 1)[1] for line in text.splitlines())
        expect(lines, ["stderr F oh dear", "stdout F hello"])


async def a_deaf_container_is_killed(bench: RuntimeBench) -> None:
    """Whoever does not listen is killed when the time is up; with no time, at once."""
    async with TestPod(bench) as pod:
        for attempt, seconds in enumerate((1, 0)):
            container_id = await pod.start("trap '' TERM; while :; do sleep 1; done", attempt=attempt)
            await bench.wait(1)
            await bench.runtime.stop_container(container_id, seconds)
            killed = await pod.shown(container_id)
            expect((killed.state, killed.exit_code, killed.reason), (EXITED, 137, "Error"))


async def an_image_that_cannot_be_mounted_is_refused(bench: RuntimeBench) -> None:
    """Nothing is mounted instead of it, whether the runtime knows volumes that are images or does not."""
    async with TestPod(bench) as pod:
        source = ImageSource(ref=NOWHERE, name=NOWHERE)
        absent = Mount(container_path="/v", readonly=True, image=source)
        await expect_fault(RuntimeFault, pod.create(mounts=(absent,)))
        expect((await pod.inspect()).containers, ())


async def a_command_that_is_not_there(bench: RuntimeBench) -> None:
    """The start fails, and the container shows why: exit 128, and never started."""
    async with TestPod(bench) as pod:
        container_id = await pod.create(command=("/no/such/binary",))
        message = await expect_fault(RuntimeFault, bench.runtime.start_container(container_id), code="Unknown")
        wanted = 'exec: "/no/such/binary": stat /no/such/binary: no such file or directory'
        expect(wanted in message, True, message)
        failed = await pod.shown(container_id)
        expect((failed.state, failed.exit_code, failed.reason), (EXITED, 128, "StartError"))
        expect((failed.started_at, failed.message in message), (0, True), failed.message)


async def too_much_memory_is_the_end(bench: RuntimeBench) -> None:
    """A container that passes its limit is killed, and says so."""
    async with TestPod(bench) as pod:
        container_id = await pod.start("tail /dev/zero")
        killed = await pod.until(container_id, lambda container: container.state == EXITED)
        expect((killed.exit_code, killed.reason), (137, "OOMKilled"))


async def runs_are_shown_newest_first(bench: RuntimeBench) -> None:
    """A restart makes another container; both are there until one is removed."""
    async with TestPod(bench) as pod:
        first = await pod.start("exit 1")
        await pod.until(first, lambda container: container.state == EXITED)
        message = await expect_fault(RuntimeFault, pod.create())
        expect("failed to reserve container name" in message, True, message)
        second = await pod.start(attempt=1)
        shown = (await pod.inspect()).containers
        expect([(each.id, each.attempt) for each in shown], [(second, 1), (first, 0)])


async def amounts_reach_the_cgroup(bench: RuntimeBench) -> None:
    """What a container is made with is in its cgroup, below the pod's; its score is its own."""
    async with TestPod(bench) as pod:
        container_id = await pod.start()
        cgroup = f"{pod.cgroup}/{container_id}"
        files = ("cpu.max", "memory.max", "memory.oom.group")
        wanted = {"cpu.max": "200000 100000", "memory.max": str(64 << 20), "memory.oom.group": "1"}
        expect(await bench.tree.read(cgroup, files), wanted)
        await _expect_weight(bench, cgroup, 102)
        expect(await bench.oom_scores(cgroup), {500})
        expect((await pod.shown(container_id)).resources, MODEST)
        sandbox = f"{pod.cgroup}/{pod.sandbox_id}"
        unlimited = {"cpu.weight": "1", "cpu.max": "max 100000", "memory.max": "max"}
        expect(await bench.tree.read(sandbox, tuple(unlimited)), unlimited)
        expect(await bench.oom_scores(sandbox), {-998})


async def amounts_change_in_place(bench: RuntimeBench) -> None:
    """The process goes on, its cgroup is new, and the runtime shows what it was asked for last."""
    async with TestPod(bench) as pod:
        container_id = await pod.start()
        cgroup, pids = f"{pod.cgroup}/{container_id}", await bench.tree.processes(pod.cgroup)
        larger = replace(
            MODEST, cpu_shares=CpuShares(512), cpu_quota=Microseconds(150000), memory_limit=Bytes(96 << 20)
        )
        await bench.runtime.update_container(container_id, larger)
        files = ("cpu.max", "memory.max", "memory.oom.group")
        wanted = {"cpu.max": "150000 100000", "memory.max": str(96 << 20), "memory.oom.group": "1"}
        expect(await bench.tree.read(cgroup, files), wanted)
        await _expect_weight(bench, cgroup, 512)
        expect((await pod.shown(container_id)).resources, larger)
        expect(set(pids) <= set(await bench.tree.processes(pod.cgroup)), True, "the same processes")


async def a_cpu_limit_can_be_lifted(bench: RuntimeBench) -> None:
    """No quota means no limit, not the one before."""
    async with TestPod(bench) as pod:
        container_id = await pod.start()
        await bench.runtime.update_container(container_id, replace(MODEST, cpu_quota=Microseconds(0)))
        cgroup = f"{pod.cgroup}/{container_id}"
        expect(await bench.tree.read(cgroup, ("cpu.max",)), {"cpu.max": "max 100000"})
        await bench.runtime.update_sandbox(pod.sandbox_id, MODEST, None)


async def commands_run_inside(bench: RuntimeBench) -> None:
    """Their output and code come back; one that takes too long is a fault with its own code."""
    async with TestPod(bench) as pod:
        container_id = await pod.start()
        result = await bench.runtime.exec_sync(container_id, ("sh", "-c", "echo out; echo err >&2; exit 4"), 30)
        expect((result.stdout, result.stderr, result.exit_code), (b"out\n", b"err\n", 4))
        slow = bench.runtime.exec_sync(container_id, ("sleep", "1000"), 1)
        await expect_fault(RuntimeFault, slow, code="DeadlineExceeded")
        message = await expect_fault(RuntimeFault, bench.runtime.exec_sync(container_id, ("nosuchcommand",), 30))
        expect('exec: "nosuchcommand": executable file not found in $PATH' in message, True, message)


async def what_is_not_there(bench: RuntimeBench) -> None:
    """Stopping and removing it succeeds, anything else is NotFound."""
    runtime, nobody = bench.runtime, "0" * 64
    await runtime.stop_container(nobody, 1)
    await runtime.remove_container(nobody)
    await runtime.stop_sandbox(nobody)
    await runtime.remove_sandbox(nobody)
    await expect_fault(RuntimeFault, runtime.start_container(nobody), code="NotFound")
    await expect_fault(RuntimeFault, runtime.exec_sync(nobody, ("true",), 5), code="NotFound")
    await expect_fault(RuntimeFault, runtime.update_container(nobody, MODEST), code="NotFound")
    expect((await runtime.inspect("nobody")).containers, ())
    async with TestPod(bench) as pod:
        await expect_fault(RuntimeFault, pod.create(image=NOWHERE), code="NotFound")


async def stopping_a_sandbox_ends_its_containers(bench: RuntimeBench) -> None:
    """Nothing runs in a sandbox that is not ready, and nothing can be started in it."""
    async with TestPod(bench) as pod:
        running, waiting = await pod.start(), await pod.create(attempt=1)
        await bench.runtime.stop_sandbox(pod.sandbox_id)
        expect((await pod.shown(running)).state, EXITED)
        expect(await bench.tree.processes(pod.cgroup), ())
        await expect_fault(RuntimeFault, bench.runtime.start_container(waiting))


async def events_name_the_pod(bench: RuntimeBench) -> None:
    """Whoever listens hears of a pod in which a container ends."""
    async with asyncio.timeout(600), TestPod(bench) as pod, asyncio.TaskGroup() as group:
        listening = group.create_task(_hear(bench, pod.uid))
        await bench.wait(0.5)
        container_id = await pod.start("exit 0")
        await pod.until(container_id, lambda container: container.state == EXITED)
        expect(await listening, True, "heard of")


async def _hear(bench: RuntimeBench, uid: str) -> bool:
    """Whether the pod was named before the stream ended."""
    async for each in bench.runtime.events():
        if each == uid:
            return True
    return False


async def _expect_weight(bench: RuntimeBench, cgroup: str, shares: int) -> None:
    """By the linear formula or the newer one, whichever the runtime has."""
    weight = (await bench.tree.read(cgroup, ("cpu.weight",)))["cpu.weight"]
    possible = {str(cpu.linear_weight(shares)), str(cpu.runtime_weight(shares))}
    expect(weight in possible, True, f"cpu.weight {weight} is one of {possible}")


CHECKS: Final[tuple[Check[RuntimeBench], ...]] = (
    it_introduces_itself_and_feels_well,
    images_are_found_by_any_name,
    a_pull_from_nowhere_fails_with_the_name,
    a_sandbox_s_life,
    names_are_reserved,
    a_container_s_life,
    exit_codes_and_output_are_kept,
    a_deaf_container_is_killed,
    an_image_that_cannot_be_mounted_is_refused,
    a_command_that_is_not_there,
    too_much_memory_is_the_end,
    runs_are_shown_newest_first,
    amounts_reach_the_cgroup,
    amounts_change_in_place,
    a_cpu_limit_can_be_lifted,
    commands_run_inside,
    what_is_not_there,
    stopping_a_sandbox_ends_its_containers,
    events_name_the_pod,
)
