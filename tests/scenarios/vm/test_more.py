"""The rest of vm-resize.md §12: devices, huge pages, CPUs of its own, quota, balloons, hardware, many at once."""

import asyncio
from typing import Any

import pytest
from tests.scenarios.nodesize.machines import FakeEnd
from tests.scenarios.vm.world import MIGRATIONS, NODE, QUOTAS, VM, World, in_mib, machine, spec, world

from flexlet.api.quantity import Quantity
from flexlet.api.status import ApiError
from flexlet.api.units import GIB
from flexlet.core.hollow.machine import MACHINE_ANNOTATION, conditions
from flexlet.core.nodesize import names as nodenames
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.refs import NODES, PODS
from flexlet.core.vm import manifest
from flexlet.engine.nodesize.keeper import MachineKeeper
from flexlet.ports import cluster as ports
from flexlet.ports.cluster import Ref
from flexlet.testing.simtime import run

Json = dict[str, Any]
SIZES = Ref(*nodenames.NODE_SIZES)


async def begin(stage: World, free_gib: float, size_gib: float = 40, **vm: Any) -> None:
    """The VM of the scenarios on a node with so much free beside it."""
    await stage.add("neighbours", size_gib - free_gib - 8520 / 1024, namespace="kube-system")
    stage.start_controller()
    await stage.apply(spec(**vm))
    await stage.settle(5)


async def figures(stage: World, vm: str = VM) -> tuple[str, str, str]:
    """Guest, pod and phase."""
    guest, pod = stage.guest(vm), await stage.pod(vm)
    held = pod["status"]["containerStatuses"][0]["allocatedResources"]
    phase = (await stage.status(vm)).get("resize", {}).get("phase", "Idle")
    return f"{guest.vcpus}v/{guest.memory / GIB:g}Gi", f"{held['cpu']}/{in_mib(held['memory'])}", phase


async def sized(stage: World, balloon_gib: float, **parts: Any) -> None:
    """A NodeSize whose balloon holds so much of the node, and its controller."""
    node = await stage.get(ports.NODES, NODE, "") or {}
    whole = Quantity.parse(node["status"]["allocatable"]["memory"]).value
    target = {"target": {"effective": {"cpu": "15", "memory": str(whole - int(balloon_gib * GIB))}}}
    body = {"metadata": {"name": NODE}, "spec": {**target, "onInsufficient": "Fail", **parts}}
    await stage.sim.cluster.create(SIZES, "", body)
    await stage.settle(3)


async def balloon(stage: World) -> float:
    """Gi that the balloon of the node holds."""
    size = await stage.get(SIZES, NODE, "") or {}
    return Quantity.parse(size["status"]["balloon"]["allocated"]["memory"]).value / GIB


def test_4_a_balloon_gives_way_to_a_growing_machine() -> None:
    """The machine lacks 2096Mi (8208Mi more, 6112Mi free): so much, and no more, is let out of the balloon."""

    async def story() -> None:
        async with world(machine(50)) as stage:
            stage.beside(NodeSizeDecider(), (nodenames.NODE_SIZES, NODES, PODS))
            await begin(stage, 16, 50)
            await sized(stage, 10)
            assert await balloon(stage) == 10
            await stage.resize(vcpus=8, memory="16Gi")
            await stage.settle(30)
            assert await figures(stage) == ("8v/16Gi", "800m/16760Mi", "Done")
            assert await balloon(stage) == 10 - 2096 / 1024
            assert [reason for reason, _ in await stage.events()] == [
                "VMResizeStarted",
                "GuestPlugged",
                "PodResizeDeferred",
                "VMResizeFallback",
                "GuestPlugged",
                "VMResizeCompleted",
            ]
            asked = next(message for reason, message in await stage.events() if reason == "VMResizeFallback")
            assert asked == "node n1 was asked for memory 2096Mi more"
            assert stage.eyes.faults == []

    run(story())


class NodeEnd(FakeEnd):
    """The hardware below the node: what is plugged there, the hollow node has."""

    def __init__(self, stage: World, cpus: int, gib: float) -> None:
        super().__init__(stage, cpus, gib)  # type: ignore[arg-type]

    async def _changed(self, _refusal: str) -> Any:
        note = {"metadata": {"annotations": {MACHINE_ANNOTATION: _machine(self.cpus, self.gib)}}}
        await self.stage.sim.cluster.patch(ports.NODES, "", NODE, note)
        return await self.measure()


def _machine(cpus: int, gib: float) -> str:
    return f'{{"cpu": "{cpus}", "memory": "{int(gib * GIB) + 100 * 1024 * 1024}"}}'


def test_4_pod_balloon_and_hardware_grow_in_one_chain() -> None:
    """A balloon of 1Gi is not enough: the node itself is plugged, and then pod and guest grow."""

    async def story() -> None:
        async with world(machine(32)) as stage:
            decider = NodeSizeDecider()
            loop = stage.loop(decider, (nodenames.NODE_SIZES, NODES, PODS))
            end = NodeEnd(stage, 16, 32)
            keeper = MachineKeeper(decider, lambda _: _opened(end), stage.sim.clock, loop.wake)
            stage.run(loop.run(), keeper.run())
            await begin(stage, 3, 32)
            await sized(stage, 1, via="Auto", machine={"qmp": "/run/n1.qmp"})
            await stage.resize(memory="16Gi")
            await stage.settle(60)
            assert await figures(stage) == ("4v/16Gi", "400m/16728Mi", "Done")
            assert [deed for deed, _, _ in end.asked] == ["plug"]
            node = await stage.get(ports.NODES, NODE, "") or {}
            assert Quantity.parse(node["status"]["allocatable"]["memory"]).value > 32 * GIB
            assert stage.eyes.faults == []

    run(story())


class _opened:  # noqa: N801 used as a function
    def __init__(self, end: NodeEnd) -> None:
        self._end = end

    async def __aenter__(self) -> NodeEnd:
        return self._end

    async def __aexit__(self, *_: object) -> None:
        return None


def test_12_a_device_has_its_memory_before_it_is_attached() -> None:
    async def story() -> None:
        async with world(machine(40)) as stage:
            await begin(stage, 20)
            gpu = {"gpus": [{"name": "gpu1", "deviceName": "0000:3b:00.0"}]}
            await stage.apply({"template": {"spec": {"domain": {"devices": gpu}}}})
            await stage.settle(30)
            assert stage.eyes.sizes[VM] == ["400m/8520Mi", "400m/9544Mi"]
            assert (await figures(stage))[:2] == ("4v/8Gi", "400m/9544Mi")
            assert stage.guest().devices == {"gpu1": "0000:3b:00.0"}
            assert stage.eyes.faults == []

    run(story())


def test_13_huge_pages_keep_memory_and_let_vcpus_come() -> None:
    """Hollow nodes have no huge pages: this one is told by hand what it does."""

    async def story() -> None:
        async with world(machine(40)) as stage:
            await stage.sleep_node()
            pages = {"status": {kind: {"hugepages-2Mi": "16Gi"} for kind in ("capacity", "allocatable")}}
            await stage.sim.cluster.patch(ports.NODES, "", NODE, pages, subresource="status")
            stage.start_controller()
            await stage.apply(spec(memory={"hugepages": {"pageSize": "2Mi"}}, policy={"fallback": "Restart"}))
            await stage.settle(1)
            await stage.node_runs()
            await stage.settle(5)
            found = await stage.conditions()
            assert [found["Resizable"][key] for key in ("status", "reason")] == ["False", "HugepagesInPlace"]
            assert stage.eyes.sizes[VM] == ["400m/328Mi"]
            await stage.resize(vcpus=8, memory="16Gi")
            await stage.settle(1)
            await stage.node_runs()
            await stage.settle(5)
            assert stage.eyes.sizes[VM] == ["400m/328Mi", "800m/360Mi"]
            assert (await figures(stage))[0] == "8v/8Gi"
            found = await stage.conditions()
            assert found["RestartRequired"]["status"] == "True"
            assert found["HotMemoryChange"]["reason"] == "HugepagesInPlace"

    run(story())


def test_14_dedicated_cpus_stay_and_memory_comes() -> None:
    async def story() -> None:
        async with world(machine(60)) as stage:
            await begin(stage, 30, 60, cpu={"dedicatedCpuPlacement": True}, policy={"fallback": "Fail"})
            assert await figures(stage) == ("4v/8Gi", "4/8620Mi", "Idle")
            await stage.sleep_node()
            await stage.resize(vcpus=8, memory="16Gi")
            await stage.settle(1)
            assert stage.eyes.sizes[VM][1:] == ["8/8652Mi"]
            why = "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"
            await stage.node_says(pending="Infeasible", message=why)
            await stage.settle(1)
            stage.wake_node()
            await stage.settle(30)
            assert stage.eyes.sizes[VM][-1] == "4/16828Mi"
            assert await figures(stage) == ("4v/16Gi", "4/16828Mi", "Failed")
            assert (await stage.status())["resize"]["message"] == why
            assert stage.eyes.faults == []

    run(story())


async def crowded(stage: World, **policy: str) -> None:
    """The example of §6: a quota of 32Gi, of which 20Gi are used, the VM's pod among them."""
    await stage.quota("32Gi")
    await stage.add("others", 20 - 8520 / 1024)
    stage.start_controller()
    await stage.apply(spec(policy=policy, run={}))
    await stage.settle(10)
    assert await used(stage) == f"{20 * 1024}Mi"


async def used(stage: World) -> str:
    found = await stage.get(QUOTAS, "q") or {}
    return in_mib(found["status"]["used"]["requests.memory"])


def test_15_in_place_passes_where_a_second_pod_would_not() -> None:
    async def story() -> None:
        async with world(machine(40)) as stage:
            await crowded(stage)
            await stage.resize(vcpus=8, memory="16Gi")
            await stage.settle(30)
            assert await figures(stage) == ("8v/16Gi", "800m/16760Mi", "Done")
            assert await used(stage) == f"{20 * 1024 + 8240}Mi"

    run(story())


def test_15_the_second_pod_is_refused_and_the_machine_stays() -> None:
    async def story() -> None:
        async with world(machine(24), nodes=("n1", "n2")) as stage:
            await crowded(stage, fallback="Migrate", deferTimeout="10s")
            here = (await stage.pod())["spec"]["nodeName"]
            await stage.add(
                "full",
                23 - 8520 / 1024 - (20 - 8520 / 1024 if here == NODE else 0),
                node=here,
                namespace="kube-system",
            )
            await stage.resize(vcpus=8, memory="16Gi")
            await stage.settle(120)
            (move,) = await stage.objects(MIGRATIONS)
            assert move["status"]["phase"] == "Failed"
            assert "exceeded quota: q" in move["status"]["message"]
            assert (await figures(stage))[:2] == ("8v/8Gi", "800m/8552Mi")
            assert stage.eyes.faults == []

    run(story())


def test_no_room_here_moves_the_machine_there_and_plugs_it() -> None:
    """8Gi at 1192 MiB/s take 6.9 s (§9)."""

    async def story() -> None:
        async with world(machine(24), nodes=("n1", "n2")) as stage:
            stage.start_controller()
            await stage.apply(spec(policy={"fallback": "Migrate", "deferTimeout": "10s"}))
            await stage.settle(5)
            here = (await stage.pod())["spec"]["nodeName"]
            await stage.add("full", 14, node=here)
            await stage.resize(vcpus=8, memory="16Gi")
            await stage.settle(60)
            (move,) = await stage.objects(MIGRATIONS)
            assert (move["status"]["phase"], move["status"]["totalMilliseconds"]) == ("Succeeded", 6872)
            assert move["status"]["targetNode"] != here
            status = await stage.status()
            assert status["nodeName"] == move["status"]["targetNode"]
            assert status["resize"]["phase"] == "Done"
            assert status["memory"]["guestCurrent"] == "16Gi"
            assert status["pod"]["allocated"] == {"cpu": "800m", "memory": "16760Mi"}
            assert [pod["metadata"]["name"] for pod in await stage.launcher_pods()] == [status["pod"]["name"]]
            assert stage.eyes.faults == []

    run(story())


def test_20_a_size_that_is_not_aligned_is_refused() -> None:
    async def story() -> None:
        async with world(machine(40)) as stage:
            await begin(stage, 20)
            with pytest.raises(ApiError) as caught:
                await stage.resize(memory="8193Mi")
            assert "2Mi" in str(caught.value)
            assert await figures(stage) == ("4v/8Gi", "400m/8520Mi", "Idle")

    run(story())


@pytest.mark.slow
def test_21_a_hundred_machines_grow_at_once_and_none_moves() -> None:
    async def story() -> None:
        nodes = tuple(f"n{number}" for number in range(10))
        async with world(machine(60, 32), nodes=nodes) as stage:
            stage.start_controller()
            vms = [f"vm{number:02}" for number in range(100)]
            small = {"minGuest": "1Gi", "guest": "2Gi", "maxGuest": "8Gi"}
            await asyncio.gather(*(stage.apply(spec(2, memory=small), vm) for vm in vms))
            await stage.settle(20)
            began = stage.elapsed
            await asyncio.gather(*(stage.resize(vm, 4, "4Gi") for vm in vms))
            await stage.until(lambda status: status["resize"].get("phase") == "Done", vms)
            took = stage.elapsed - began
            found = {await figures(stage, vm) for vm in vms}
            assert found == {("4v/4Gi", "400m/4416Mi", "Done")}
            assert {len(pods) for pods in stage.eyes.restarts.values()} == {1}
            assert await stage.objects(MIGRATIONS) == []
            assert took < 5.0
            assert stage.eyes.faults == []
            print(f"100 machines grew in {took:.1f} simulated seconds")  # noqa: T201 to be measured

    run(story())


def test_22_a_limit_that_cannot_be_lowered_yet_is_lowered_later() -> None:
    async def story() -> None:
        async with world(machine(40)) as stage:
            limit = {"requests": {"memory": "4Gi"}, "limits": {"memory": "4Gi"}}
            await begin(stage, 20, resources=limit)
            limits = (await stage.pod())["spec"]["containers"][0]["resources"]["limits"]
            assert in_mib(limits["memory"]) == "8520Mi"
            await stage.sleep_node()
            await stage.resize(memory="4Gi")
            await stage.settle(5)
            why = "cannot decrease memory limits below current usage"
            await stage.node_says(
                in_progress="Error", message=why, allocated={"cpu": "400m", "memory": f"{4416 * 1024**2}"}
            )
            await stage.settle(400)
            status = await stage.status()
            assert (status["resize"]["phase"], stage.guest().memory) == ("PodShrinking", 4 * GIB)
            assert why in status["resize"]["message"]
            await stage.node_runs()
            await stage.settle(10)
            assert await figures(stage) == ("4v/4Gi", "400m/4416Mi", "Done")
            limits = (await stage.pod())["spec"]["containers"][0]["resources"]["limits"]
            assert in_mib(limits["memory"]) == "4416Mi"
            assert stage.eyes.faults == []

    run(story())


def test_a_node_that_is_lost_keeps_the_wish() -> None:
    """Its pod is evicted, which a silent node cannot confirm; the next one starts with what is wanted then."""

    async def story() -> None:
        async with world(machine(40)) as stage:
            await begin(stage, 20)
            await stage.sleep_node()
            await stage.resize(memory="16Gi")
            await stage.settle(60)
            await stage.sim.cluster.delete(ports.PODS, "default", manifest.name_of(VM), {})
            await stage.settle(600)
            assert len(stage.eyes.restarts[VM]) == 1, "there may still be a machine in it"
            stage.wake_node()
            ready = {"status": {"conditions": conditions(stage.sim.clock.now())}}
            await stage.sim.cluster.patch(ports.NODES, "", NODE, ready, subresource="status")
            await stage.settle(60)
            assert (await figures(stage))[:2] == ("4v/16Gi", "400m/16728Mi")
            assert len(stage.eyes.restarts[VM]) == 2
            assert stage.eyes.faults == []

    run(story())


def test_a_machine_that_dies_where_it_has_moved_to_is_started_anew() -> None:
    """Nobody was there to see it arrive, and its old launcher holds nothing but a picture of it."""

    async def story() -> None:
        async with world(machine(24), nodes=("n1", "n2")) as stage:
            stage.start_controller()
            await stage.apply(spec())
            await stage.settle(5)
            body = {"metadata": {"name": "m1"}, "spec": {"vmName": VM}}
            await stage.sim.cluster.create(MIGRATIONS, "default", body)
            await stage.settle(3)
            await stage.kill_controller()
            await stage.settle(10)
            assert stage.place(VM) != manifest.name_of(VM)
            await stage.crash()
            stage.start_controller()
            await stage.settle(30)
            (move,) = await stage.objects(MIGRATIONS)
            assert move["status"]["phase"] == "Failed"
            assert await figures(stage) == ("4v/8Gi", "400m/8520Mi", "Idle")
            assert len(await stage.launcher_pods()) == 1
            assert stage.eyes.faults == []

    run(story())
