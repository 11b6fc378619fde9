"""Boot, enable, disable, drift, capacity that changes, limits that are enforced (balloon.md §5, §6)."""

import msgspec
from tests.scenarios.nodesize.world import SIZES, world

from flexlet.core.hollow.machine import node_object
from flexlet.core.nodesize import manifest, names
from flexlet.core.nodesize.settings import Settings
from flexlet.ports import cluster as ports
from flexlet.testing.simtime import run

BALLOON = manifest.name_of("n1")


def spec(cpu: str, memory: str, **more: object) -> dict[str, object]:
    return {"target": {"balloon": {"cpu": cpu, "memory": memory}}, **more}


def test_a_new_node_stays_closed_until_its_balloon_has_its_size() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.sleep_node()
            body = node_object("n1", stage.machine, "test", [], stage.now)
            body["spec"]["taints"] = [{"key": names.PENDING_TAINT, "effect": "NoSchedule"}]
            await stage.sim.cluster.delete(ports.NODES, "", "n1")
            await stage.sim.cluster.create(ports.NODES, "", body)
            stage.start_controller()
            await stage.apply(spec("7", "28Gi"))
            await stage.settle()
            assert await stage.taints() == [names.PENDING_TAINT]
            assert [p["spec"]["containers"][0]["resources"]["requests"] for p in await stage.balloons()] == [
                {"cpu": "7", "memory": "28Gi"}
            ]
            stage.wake_node()
            await stage.settle()
            assert await stage.taints() == []
            assert (await stage.condition("Ready"))["status"] == "True"

    run(story())


def test_enabling_a_busy_node_takes_what_can_be_had_unless_told_to_fail() -> None:
    """The server fills in Fail where nothing is said; the rule is the decider's and is tested there as well."""

    async def story() -> None:
        async with world() as stage:
            await stage.add("a", 12, 20)
            stage.start_controller()
            await stage.apply(spec("7", "28Gi", onInsufficient="Partial"))
            await stage.settle(3)
            assert await stage.figures() == {
                "balloon": (2.7, 28),
                "effective": (12.3, 32),
                "headroom": (0.3, 12),
            }

    run(story())


def test_without_a_target_the_pod_itself_is_the_truth() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply({})
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (0.001, 0.015625)
            await stage.resize(4, 8)
            await stage.settle(40)
            assert (await stage.figures())["balloon"] == (4, 8)
            await stage.remove(BALLOON, names.NAMESPACE)
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (4, 8)

    run(story())


def test_a_hand_on_a_managed_balloon_is_suffered_for_half_a_minute() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi"))
            await stage.settle(3)
            await stage.resize(5, 28)
            await stage.settle(20)
            assert (await stage.figures())["balloon"] == (5, 28)
            assert (await stage.condition("Drifted"))["status"] == "True"
            await stage.settle(15)
            assert (await stage.figures())["balloon"] == (7, 28)
            assert (await stage.condition("Drifted"))["status"] == "False"
            assert [reason for reason, _ in await stage.events()].count("BalloonDrift") == 1

    run(story())


def test_a_hand_that_asks_for_more_and_less_at_once_is_sorted_out() -> None:
    """The node defers both, the one because of the other; after the grace the balloon is what it was."""

    async def story() -> None:
        async with world() as stage:
            await stage.add("a", 12, 20)
            stage.start_controller()
            await stage.apply(spec("3", "28Gi", onInsufficient="Fail"))
            await stage.settle(3)
            await stage.apply(spec("7", "50Gi", onInsufficient="Fail"))
            await stage.settle(3)
            await stage.resize(4, 10)
            await stage.settle(20)
            assert (await stage.figures())["balloon"] == (3, 28)
            assert (await stage.condition("Resizing"))["status"] == "True"
            await stage.settle(40)
            assert (await stage.figures())["balloon"] == (3, 28)
            assert (await stage.condition("Overcommitted"))["status"] == "False"
            assert (await stage.condition("Resizing"))["status"] == "False"
            assert (await stage.condition("Drifted"))["status"] == "False"

    run(story())


def test_disabling_gives_back_in_steps_and_leaves_nothing() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi"))
            await stage.settle(3)
            await stage.sim.cluster.delete(SIZES, "", "n1")
            await stage.settle(10)
            assert await stage.balloons() == []
            assert await stage.get(SIZES, "n1") is None
            assert await stage.taints() == []

    run(story())


def test_disabling_waits_while_a_limit_is_enforced() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi", enforce="CpuAndMemory"))
            await stage.settle(3)
            await stage.sim.cluster.delete(SIZES, "", "n1")
            await stage.settle(5)
            assert (await stage.condition("Ready"))["reason"] == "EnforceActive"
            assert (await stage.figures())["balloon"] == (7, 28)
            await stage.sim.cluster.patch(SIZES, "", "n1", {"spec": {"enforce": "None"}})
            await stage.settle(10)
            assert await stage.get(SIZES, "n1") is None

    run(story())


def test_what_is_enforced_stands_on_the_balloon_for_the_agent() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi", enforce="CpuAndMemory"))
            await stage.settle(3)
            (balloon,) = await stage.balloons()
            wanted = {"mode": "CpuAndMemory", "effective": {"cpu": "8", "memory": "32Gi"}}
            assert msgspec.json.decode(balloon["metadata"]["annotations"][names.ENFORCE]) == wanted
            await stage.apply(spec("3", "12Gi", enforce="Cpu"))
            await stage.settle(3)
            (balloon,) = await stage.balloons()
            wanted = {"mode": "Cpu", "effective": {"cpu": "12", "memory": "48Gi"}}
            assert msgspec.json.decode(balloon["metadata"]["annotations"][names.ENFORCE]) == wanted

    run(story())


def test_hot_plug_shows_through_or_is_held() -> None:
    async def story(change: str, wanted: tuple[float, float]) -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi", capacityChange=change))
            await stage.settle(3)
            await stage.plug(19, 76)
            await stage.settle(3)
            assert (await stage.figures())["effective"] == wanted

    run(story("Expose", (12, 48)))
    run(story("Hold", (8, 32)))


def test_a_node_that_is_not_there_is_waited_for() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi"), node="n9")
            await stage.settle(3)
            assert (await stage.condition("Ready", "n9"))["reason"] == "NodeMissing"
            await stage.sim.cluster.delete(SIZES, "", "n9")
            await stage.settle(3)
            assert await stage.get(SIZES, "n9") is None

    run(story())


def test_min_effective_is_never_crossed() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            least = {"cpu": "10", "memory": "50Gi"}
            await stage.apply(spec("7", "28Gi", minEffective=least, onInsufficient="Partial"))
            await stage.settle(3)
            assert (await stage.figures())["effective"] == (10, 50)
            await stage.apply(spec("8", "28Gi", minEffective=least, onInsufficient="Defer"))
            await stage.settle(3)
            assert (await stage.figures())["effective"] == (10, 50)
            assert "minEffective leaves" in (await stage.condition("Insufficient"))["message"]

    run(story())


def test_a_refused_target_is_tried_again_when_somebody_asks_anew() -> None:
    async def story() -> None:
        async with world() as stage:
            await stage.add("a", 5, 40)
            stage.start_controller()
            await stage.apply(spec("7", "28Gi", onInsufficient="Fail"))
            await stage.settle(3)
            await stage.remove("a")
            await stage.settle(60)
            assert (await stage.figures())["balloon"] == (7, 0.0625)
            note = {"metadata": {"annotations": {names.REQUESTED: "again"}}}
            await stage.sim.cluster.patch(SIZES, "", "n1", note)
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (7, 28)

    run(story())


def test_a_balloon_begins_large_enough_to_start_and_gives_back_what_is_too_much() -> None:
    """At the floor its own start would be throttled; until it runs nobody resizes it."""

    async def story() -> None:
        async with world() as stage:
            await stage.sleep_node()
            stage.start_controller()
            await stage.apply(
                {"target": {"effective": {"cpu": "20", "memory": "20Gi"}}, "minEffective": {"cpu": "14900m"}}
            )
            await stage.settle(1)
            (made,) = await stage.balloons()
            requests = {"cpu": "100m", "memory": "64Mi"}
            assert made["spec"]["containers"][0]["resources"]["requests"] == requests
            held = {"allocatedResources": requests, "resources": {"requests": requests, "limits": requests}}
            waiting = {"name": names.CONTAINER, "state": {"waiting": {"reason": "ContainerCreating"}}, **held}
            body = {"status": {"phase": "Pending", "containerStatuses": [waiting]}}
            await stage.sim.cluster.patch(ports.PODS, names.NAMESPACE, BALLOON, body, subresource="status")
            await stage.settle(30)
            (made,) = await stage.balloons()
            assert made["spec"]["containers"][0]["resources"]["requests"] == requests
            assert (await stage.condition("Resizing"))["status"] == "True"
            runs = {**waiting, "state": {"running": {}}}
            body = {"status": {"phase": "Running", "containerStatuses": [runs]}}
            await stage.sim.cluster.patch(ports.PODS, names.NAMESPACE, BALLOON, body, subresource="status")
            stage.wake_node()
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (0.001, 40)

    run(story())


def test_daemonsets_may_make_the_balloons() -> None:
    async def story() -> None:
        async with world(settings=Settings(management="DaemonSet")) as stage:
            stage.start_controller()
            await stage.apply(spec("7", "28Gi"))
            await stage.settle(3)
            daemons = ports.Ref("apps", "v1", "daemonsets")
            made = await stage.get(daemons, "flexlet-balloon-g", names.NAMESPACE)
            assert made is not None
            requests = made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
            assert requests == {"cpu": "200m", "memory": "64Mi"}
            node = await stage.get(ports.NODES, "n1")
            assert node is not None
            assert node["metadata"]["labels"][names.LABEL] == "enabled"
            await stage.stray(0.2, 0.0625, name="flexlet-balloon-g-x")
            await stage.settle(3)
            assert (await stage.figures())["balloon"] == (7, 28)
            await stage.sim.cluster.delete(SIZES, "", "n1")
            await stage.settle(10)
            node = await stage.get(ports.NODES, "n1")
            assert node is not None
            assert names.LABEL not in node["metadata"]["labels"]

    run(story())


def test_a_balloon_that_may_not_be_made_says_why() -> None:
    async def story() -> None:
        async with world() as stage:
            quotas, hard = ports.Ref("", "v1", "resourcequotas"), {"hard": {"pods": "0"}}
            await stage.sim.cluster.create(quotas, names.NAMESPACE, {"metadata": {"name": "q"}, "spec": hard})
            counted = {"status": {**hard, "used": {"pods": "0"}}}
            await stage.sim.cluster.patch(quotas, names.NAMESPACE, "q", counted, subresource="status")
            stage.start_controller()
            await stage.apply(spec("7", "28Gi"))
            await stage.settle(3)
            missing = await stage.condition("BalloonMissing")
            assert missing["status"] == "True"
            assert "exceeded quota" in missing["message"]
            await stage.sim.cluster.delete(quotas, names.NAMESPACE, "q")
            await stage.settle(40)
            assert (await stage.figures())["balloon"] == (7, 28)

    run(story())


def test_new_pods_can_be_kept_away_for_the_seconds_of_a_resize() -> None:
    async def story() -> None:
        async with world(settings=Settings(taints_while_resizing=True)) as stage:
            await stage.stock()
            stage.start_controller()
            await stage.apply(spec("3", "12Gi"))
            await stage.settle(3)
            await stage.sleep_node()
            await stage.apply(spec("7", "28Gi"))
            await stage.settle(1)
            assert await stage.taints() == [names.RESIZING_TAINT]
            stage.wake_node()
            await stage.settle(3)
            assert await stage.taints() == []

    run(story())


def test_the_same_size_wished_again_is_meant_for_the_machine_of_now() -> None:
    async def story() -> None:
        async with world() as stage:
            stage.start_controller()
            size = {"target": {"effective": {"cpu": "8", "memory": "32Gi"}}}
            await stage.apply(size, annotations={names.REQUESTED: "1"})
            await stage.settle(3)
            await stage.plug(19, 76)
            await stage.settle(3)
            assert (await stage.figures())["effective"] == (12, 48)
            again = {"metadata": {"annotations": {names.REQUESTED: "2"}}}
            await stage.sim.cluster.patch(SIZES, "", "n1", again)
            await stage.settle(3)
            assert (await stage.figures())["effective"] == (8, 32)

    run(story())
