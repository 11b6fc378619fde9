"""Scenarios 6, 17, 18 and 20 of balloon.md §12: who a balloon may be on which node."""

from tests.scenarios.nodesize.world import World, world

from flexlet.core.nodesize import manifest, names
from flexlet.core.nodesize.settings import Settings
from flexlet.ports import cluster as ports
from flexlet.testing.simtime import run

TARGET = {"target": {"balloon": {"cpu": "7", "memory": "28Gi"}}, "onInsufficient": "Fail"}
BALLOON = manifest.name_of("n1")


def test_6_a_critical_balloon_is_never_inflated_on_a_kubelet_that_would_kill_for_it() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.stock()
            await stage.add("a", 5, 40)
            await stage.stray(3, 12, name=BALLOON, priority_class=names.CRITICAL_CLASS)
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (3, 12)
            assert (await stage.condition("Insufficient"))["reason"] == "Refused"
            events = [message for reason, message in await stage.events() if reason == "BalloonInflateRefused"]
            assert "kills running pods to make room" in events[0]
            assert {p["status"]["phase"] for p in await stage.pods()} == {"Running"}
            await stage.apply({"target": {"balloon": {"cpu": "1", "memory": "4Gi"}}})
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (1, 4)

    run(story())


def test_6_the_critical_mode_is_refused_where_it_is_not_safe() -> None:
    async def story() -> None:
        async with world(settings=Settings(mode="stock-critical")) as stage:
            await stage.stock()
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(3)
            degraded = await stage.condition("ModeDegraded")
            assert (degraded["status"], degraded["reason"]) == ("True", "CriticalIsUnsafe")
            assert [p["spec"]["priorityClassName"] for p in await stage.balloons()] == [names.CLASS]
            assert (await stage.status())["mode"] == "stock"

    run(story())


def test_kubelets_before_133_are_left_alone() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.stock("v1.32.9")
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(3)
            ready = await stage.condition("Ready")
            assert (ready["reason"], ready["message"]) == (
                "KubeletTooOld",
                "kubelet 1.32 cannot resize pods in place: 1.33 or later is needed",
            )
            assert await stage.balloons() == []

    run(story())


async def _qos(stage: World) -> list[str]:
    return [pod["status"]["qosClass"] for pod in await stage.balloons()]


def test_17_static_managers_get_a_shape_that_can_be_resized() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.stock(kubelet_policies='{"cpuManagerPolicy": "static"}')
            await stage.stray(3, 12, name=BALLOON)
            assert await _qos(stage) == ["Guaranteed"]
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(5)
            assert await _qos(stage) == ["Burstable"]
            assert (await stage.status())["shape"] == "M"
            assert (await stage.figures())["balloon"] == (7, 28)
            assert await stage.taints() == []

    run(story())


def test_18_swap_and_old_servers_decide_about_limits() -> None:
    cases = [
        ("v1.33.1", "{}", ()),
        ("v1.33.1", '{"memorySwap": {"swapBehavior": "LimitedSwap"}}', ("memory",)),
        ("v1.36.3", '{"memorySwap": {"swapBehavior": "LimitedSwap"}}', ("cpu", "memory")),
        ("v1.36.3", '{"memoryManagerPolicy": "Static"}', ("memory",)),
    ]

    async def story(version: str, policies: str, limits: tuple[str, ...]) -> None:
        async with world() as stage:
            await stage.stock(version, kubelet_policies=policies)
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(3)
            (balloon,) = await stage.balloons()
            assert tuple(sorted(balloon["spec"]["containers"][0]["resources"].get("limits", {}))) == limits
            assert (await stage.figures())["balloon"] == (7, 28)

    for case in cases:
        run(story(*case))


def test_20_a_balloon_that_a_critical_pod_displaced_comes_back_with_what_is_left() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.add("a", 8, 32)
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(3)
            assert (await stage.figures())["headroom"] == (0, 0)
            await stage.sleep_node()
            gone = {"status": {"phase": "Failed", "reason": "Preempting"}}
            # Both happen before the controller looks: else it may be the quicker one, and the pod is refused.
            await stage.kill_controller()
            await stage.sim.cluster.patch(ports.PODS, names.NAMESPACE, BALLOON, gone, subresource="status")
            await stage.add("critical", 0.5, 1)
            stage.start_controller()
            stage.wake_node()
            await stage.settle(5)
            assert (await stage.figures())["balloon"] == (6.2, 26.5)
            assert (await stage.condition("Insufficient"))["reason"] == "PartiallyGranted"
            phases = {p["metadata"]["name"]: p["status"]["phase"] for p in await stage.pods()}
            assert phases == {"a": "Running", "critical": "Running", BALLOON: "Running"}

    run(story())


def test_balloons_of_another_owner_are_left_alone() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.stray(3, 12, name=BALLOON)
            note = {"metadata": {"annotations": {names.OWNER: "somebody"}}}
            await stage.sim.cluster.patch(ports.PODS, names.NAMESPACE, BALLOON, note)
            stage.start_controller()
            await stage.apply(TARGET)
            await stage.settle(3)
            assert (await stage.condition("Ready"))["reason"] == "OwnedByAnother"
            assert (await stage.figures())["balloon"] == (3, 12)

    run(story())
