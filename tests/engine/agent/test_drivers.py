"""A node that grows under either cgroup driver: containers are found where the runtime has put them."""

from pathlib import Path
from typing import Final

import pytest
from tests.engine.agent.nodes import Node, node, run

from flexlet.adapters.nodeserver.usage import Usage
from flexlet.core.cgroups.paths import CGROUPFS, SYSTEMD
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.engine.agent import measuring
from flexlet.testing.host import GIB

BURSTABLE: Final = {
    "name": "app",
    "image": "busybox:1",
    "command": ["sleep", "1000000"],
    "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}},
}
DRIVERS: Final = pytest.mark.parametrize("driver", [CGROUPFS, SYSTEMD])


def score(at: Node) -> int:
    """How willingly the kernel kills the container's process."""
    (container,) = at.sim.containerd.containers.values()
    return at.sim.kernel.machine.processes[container.pid].oom_score_adj


@DRIVERS
def test_a_plug_rewrites_the_scores_of_running_containers(tmp_path: Path, driver: str) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin(resize=ResizeSettings(plug=True), driver=driver)
            await at.pod("web", containers=[BURSTABLE])
            await at.passes(5)
            before = score(at)
            at.host.memory = 4 * GIB
            agent.following.look_again()
            await at.passes(5)
            assert (before, score(at)) == (750, 875)

    run(tale())


@DRIVERS
def test_containers_are_measured(tmp_path: Path, driver: str) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin(driver=driver)
            await at.pod("web", containers=[BURSTABLE])
            await at.passes(5)
            world = agent.loop.world
            source = measuring.source(world, agent.machine(), world.pods.values())
            usage = Usage(at.sim.cgroups, at.sim.runtime, at.clock, tmp_path)
            (pod,) = (await usage.measure(source, "lean")).pods
            (container,) = pod.containers
            assert container.usage is not None
            assert container.cgroup == next(iter(at.sim.containerd.containers.values())).cgroup

    run(tale())


def test_a_container_that_is_nowhere_is_no_success(tmp_path: Path) -> None:
    """The runtime says that it runs, and no cgroup bears its id: it keeps the values of another size."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = await at.begin(resize=ResizeSettings(plug=True))
            uid = await at.pod("web", containers=[BURSTABLE])
            await at.passes(5)
            (container,) = at.sim.containerd.containers.values()
            process = at.sim.kernel.machine.processes[container.pid]
            process.cgroup = "elsewhere"
            at.sim.kernel.machine.mkdir("elsewhere")
            at.sim.kernel.machine.rmdir(f"kubepods/burstable/pod{uid}/{container.id}")
            at.host.memory = 4 * GIB
            agent.following.look_again()
            await at.passes(5)
            doing = agent.following.resizer._execution._doing
            assert list(doing.untuned) == [container.id]

    run(tale())
