"""An agent on a runtime that was started again and has lost something which runs on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.world import Json, World, amounts, is_gone, is_ready, world

from flexlet.adapters.sim import losing
from flexlet.adapters.sim.containerd import Containerd
from flexlet.core.runtime.shown import EXITED, NOT_READY, READY, RUNNING, UNKNOWN
from flexlet.testing import run

BEFORE, AFTER = amounts("100m,64Mi", "200m,128Mi"), amounts("100m,64Mi", "300m,128Mi")
STOPS = frozenset({"stop_container", "stop_sandbox", "run_sandbox", "create_container", "remove"})


class Restarted:
    """A pod on a node whose runtime is away for a moment, and what was done to the pod since."""

    def __init__(self, there: World, uid: str) -> None:
        self.there = there
        self.uid = uid
        self.containerd: Containerd = there.node.sim.containerd
        self._deeds = len(there.node.sim.trouble.deeds)

    async def runtime(self, loses: Callable[[], None] = lambda: None) -> None:
        self.there.node.sim.runtime.is_away = True
        self.containerd.kernel.notify()
        await asyncio.sleep(3)
        loses()
        self.there.node.sim.runtime.is_away = False
        await asyncio.sleep(3)

    @property
    def stops(self) -> list[str]:
        """What was stopped or made anew."""
        done = self.there.node.sim.trouble.deeds[self._deeds :]
        return [call.method for call in done if call.method in STOPS]

    @property
    def states(self) -> tuple[list[str], list[str], int]:
        """Of sandboxes and containers, oldest first, and how many processes the pod has."""
        sandboxes = [each for each in self.containerd.sandboxes.values() if each.config.uid == self.uid]
        runs = [each for each in self.containerd.containers.values() if each.sandbox.config.uid == self.uid]
        pids = {each.pid for each in sandboxes} | {each.pid for each in runs}
        here = pids & self.containerd.kernel.machine.processes.keys()
        return [each.state for each in sandboxes], [each.state for each in runs], len(here)

    async def count(self) -> tuple[int, bool]:
        """How often its container was restarted, and whether the pod is ready."""
        found = await self.there.get("p")
        assert found is not None
        return found["status"]["containerStatuses"][0]["restartCount"], is_ready(found)


def told(tmp_path: Path, story: Callable[[Restarted], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        async with world(tmp_path) as there:
            uid = await there.create("p", {"c": BEFORE})
            await there.until("p", is_ready)
            return await story(Restarted(there, uid))

    return run(whole())


def has_cpu(found: Json | None) -> bool:
    limits = found["status"]["containerStatuses"][0]["resources"]["limits"] if found else {}
    return bool(limits.get("cpu") == "300m")


def test_a_pod_whose_sandbox_was_lost_goes_on_and_is_resized(tmp_path: Path) -> None:
    async def story(it: Restarted) -> tuple[Any, ...]:
        await it.runtime(lambda: losing.lose_sandboxes(it.containerd, it.uid))
        wish = [{"name": "c", "resources": AFTER}]
        await it.there.cluster.resize("p", {"spec": {"containers": wish}})
        await it.there.until("p", has_cpu)
        await asyncio.sleep(120)
        return it.stops, it.states, await it.count()

    assert told(tmp_path, story) == ([], ([NOT_READY], [RUNNING], 2), (0, True))


@pytest.mark.parametrize("state", [EXITED, UNKNOWN])
def test_a_container_that_is_found_again_was_never_stopped(tmp_path: Path, state: str) -> None:
    async def story(it: Restarted) -> tuple[Any, ...]:
        await it.runtime(lambda: losing.lose_containers(it.containerd, it.uid, state))
        meanwhile = it.states, await it.count()
        await it.runtime(lambda: losing.find_again(it.containerd))
        await asyncio.sleep(120)
        return meanwhile, it.stops, it.states, await it.count()

    assert told(tmp_path, story) == (
        (([READY], [state], 2), (0, True)),
        [],
        ([READY], [RUNNING], 2),
        (0, True),
    )


@pytest.mark.parametrize("state", [EXITED, UNKNOWN])
def test_a_container_that_stays_lost_is_replaced_and_never_runs_twice(tmp_path: Path, state: str) -> None:
    async def story(it: Restarted) -> tuple[Any, ...]:
        await it.runtime(lambda: losing.lose_containers(it.containerd, it.uid, state))
        await asyncio.sleep(20)
        waited = it.stops
        await asyncio.sleep(20)
        return waited, it.states, await it.count()

    assert told(tmp_path, story) == ([], ([READY], [EXITED, RUNNING], 2), (1, True))


@pytest.mark.parametrize("state", [EXITED, UNKNOWN])
def test_a_pod_does_not_become_smaller_than_a_container_that_was_lost(tmp_path: Path, state: str) -> None:
    """What is watched all the time: no limit of a container is above that of its pod."""

    async def story(it: Restarted) -> tuple[Any, ...]:
        await it.runtime(lambda: losing.lose_containers(it.containerd, it.uid, state))
        wish = [{"name": "c", "resources": amounts("50m,64Mi", "100m,128Mi")}]
        await it.there.cluster.resize("p", {"spec": {"containers": wish}})
        await asyncio.sleep(60)
        path = it.there.node.pod_path(it.uid) or ""
        return it.states, await it.count(), it.there.node.cgroup(path)["cpu.max"]

    assert told(tmp_path, story) == (([READY], [EXITED, RUNNING], 2), (1, True), "10000 100000")


def test_a_crash_in_a_lost_sandbox_brings_a_new_one(tmp_path: Path) -> None:
    """And nothing is left of the old one, so a runtime that finds it again does no harm."""

    async def story(it: Restarted) -> tuple[Any, ...]:
        await it.runtime(lambda: losing.lose_sandboxes(it.containerd, it.uid))
        kernel = it.containerd.kernel
        [container] = it.there.node.containers(it.uid).values()
        kernel.end(kernel.machine.processes[container.pid], 1)
        await asyncio.sleep(30)
        first = it.states, await it.count()
        await it.runtime(lambda: losing.find_again(it.containerd))
        await asyncio.sleep(30)
        return first, it.states, await it.count()

    after = ([READY], [EXITED, RUNNING], 2), (1, True)
    first, *last = told(tmp_path, story)
    assert (first[0][1:], first[1]) == (after[0][1:], after[1])
    assert (last[0][1:], last[1]) == (after[0][1:], after[1])
    assert last[0][0].count(READY) == 1


@pytest.mark.parametrize("lose", [losing.lose_sandboxes, losing.lose_containers])
def test_a_pod_with_something_lost_can_be_deleted(tmp_path: Path, lose: Callable[[Containerd, str], None]) -> None:
    async def story(it: Restarted) -> tuple[Any, ...]:
        await it.runtime(lambda: lose(it.containerd, it.uid))
        await it.there.cluster.delete("p")
        await it.there.until("p", is_gone)
        await asyncio.sleep(5)
        return it.states, it.there.node.pod_path(it.uid)

    assert told(tmp_path, story) == (([], [], 0), None)
