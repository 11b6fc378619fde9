"""Balloons on a whole node: who gets what they give back, and who pays when there is less."""

from pathlib import Path

import pytest
from tests.engine.agent.balloons import FOLLOWS, NONE, amounts, node

from flexlet.api.units import GIB
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.testing.simtime import run


@pytest.mark.parametrize("critical", [False, True])
def test_a_balloon_never_preempts_and_what_it_gives_back_is_granted(tmp_path: Path, critical: bool) -> None:
    """Scenarios 1 to 3 and 6: 7/28 beside 5/20; a kubelet would kill for it if it were critical."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28", critical=critical)
            await at.resize("3,12")
            assert await at.size() == ("3,12", "")
            await at.resize("3,41")
            assert (await at.size(), await at.phase("web")) == (("3,12", "Deferred"), "Running")
            await at.resize("7,28")
            assert await at.size() == ("7,28", "")

    run(story())


def test_a_balloon_gives_back_under_pressure(tmp_path: Path) -> None:
    async def story() -> None:
        async with node(tmp_path) as at:
            await at.balloon("7,28")
            assert at.at.node.agent is not None
            at.at.node.agent.selfview.tell(pressures=frozenset({"DiskPressure", "PIDPressure"}))
            await at.settle()
            await at.resize("3,12")
            assert await at.size() == ("3,12", "")

    run(story())


def test_static_managers_give_a_balloon_nothing_of_its_own(tmp_path: Path) -> None:
    """Scenario 17 on our own agent: shape G with whole CPUs shrinks, and nobody lost a CPU to it."""
    config = {
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "evictionHard": NONE,
    }

    async def story() -> None:
        async with node(tmp_path, config=config) as at:
            await at.balloon("7,28")
            world = at.at.node.agent.loop.world  # type: ignore[union-attr]
            assert world.managers.cpu.entries == {}
            await at.resize("3,12")
            assert await at.size() == ("3,12", "")

    run(story())


def test_a_balloon_without_limits_gives_back_on_a_node_with_swap(tmp_path: Path) -> None:
    """Scenario 18, shape R: more memory is refused, less is granted; the kernel can do that."""
    config = {"memorySwap": {"swapBehavior": "LimitedSwap"}, "failSwapOn": False}

    async def story() -> None:
        async with node(tmp_path, config=config) as at:
            await at.balloon("7,28", limited=False)
            await at.resize("7,12", limited=False)
            assert await at.size() == ("7,12", "")
            await at.resize("7,20", limited=False)
            assert await at.size() == ("7,12", "Infeasible")

    run(story())


@pytest.mark.parametrize("follows", [True, False])
def test_an_agent_that_starts_on_a_smaller_machine_shrinks_the_balloon(tmp_path: Path, follows: bool) -> None:
    """Scenario 15: the balloon is older than the pod, and yet it is the one that pays.

    The node takes what it must; how much smaller the balloon is wanted is for its owner to say.
    """

    async def story() -> None:
        async with node(tmp_path, resize=FOLLOWS if follows else ResizeSettings()) as at:
            await at.balloon("7,28")
            await at.workload("web", "5,20")
            await at.at.node.kill()
            at.at.node.host.memory = 44 * GIB
            await at.at.node.start()
            await at.settle(10)
            assert (await at.size(), await at.phase("web")) == (("7,24", "Deferred"), "Running")
            await at.resize("7,12")
            assert (await at.size(), await at.phase("web")) == (("7,12", ""), "Running")

    run(story())


def test_a_machine_that_shrinks_takes_from_the_balloon_first(tmp_path: Path) -> None:
    """Scenario 21: 20Gi vanish; the balloon has 20Gi of what is left, more is not to be had."""

    async def story() -> None:
        async with node(tmp_path, resize=FOLLOWS) as at:
            await at.balloon("7,28")
            await at.workload("web", "5,20")
            at.at.node.host.memory = 40 * GIB
            await at.settle(30)
            assert (await at.size(), await at.phase("web")) == (("7,20", "Deferred"), "Running")
            await at.resize("7,26")
            assert await at.size() == ("7,20", "Deferred")
            await at.resize("7,20")
            assert await at.size() == ("7,20", "")

    run(story())


def test_newcomers_do_not_get_what_a_balloon_held_before_a_restart(tmp_path: Path) -> None:
    """It was bound meanwhile by somebody who did not look: it would run in what does not exist."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28")
            await at.at.node.kill()
            await at.at.create("late", {"c": {"resources": {"requests": amounts("4,4")}}})
            await at.at.node.start()
            await at.settle(10)
            assert await at.size() == ("7,28", "")
            assert (await at.phase("web"), await at.phase("late")) == ("Running", "OutOfcpu")

    run(story())


def test_nobody_ends_a_balloon_for_a_critical_pod(tmp_path: Path) -> None:
    """Scenario 20: nothing is free; the other pod makes way, and then nobody can."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.balloon("10,40")
            await at.workload("web", "5,20")
            await at.workload("critical", "500m,1", priorityClassName="system-node-critical")
            await at.settle(10)
            assert await at.phase("balloon") == "Running"
            assert await at.phase("critical") == "Running"
            assert (await at.at.get("web") or {}).get("status", {}).get("phase") != "Running"
            await at.workload("larger", "5,1", priorityClassName="system-node-critical")
            assert await at.phase("larger") == "UnexpectedAdmissionError"
            assert await at.size() == ("10,40", "")

    run(story())
