"""An agent that dies between making a container and starting it, and the next one."""

import asyncio
from pathlib import Path
from typing import Any

from tests.engine.agent.nodes import Node, node, plain, run


class Stuck:
    """A runtime that makes containers and does not start them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def start_container(self, _: str) -> None:
        await asyncio.Event().wait()


async def restarts(at: Node, name: str) -> tuple[int, bool]:
    (status,) = (await at.cluster.pod(name))["status"]["containerStatuses"]
    return status["restartCount"], status["ready"]


def states(at: Node) -> list[tuple[int, str]]:
    return sorted((each.config.attempt, each.state) for each in at.sim.containerd.containers.values())


def test_a_container_that_never_ran_is_no_restart(tmp_path: Path) -> None:
    """The kubelet counts it. Nothing of the pod has failed, and whoever watches the count would look in vain."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(runtime=Stuck(at.sim.runtime))
            await at.pod("web")
            await at.passes(2)
            assert states(at) == [(0, "CREATED")]
            await at.end()
            await at.begin()
            await at.passes(5)
            assert (states(at), await restarts(at, "web")) == ([(0, "RUNNING")], (0, True))

    run(tale())


def test_a_crash_before_it_still_counts(tmp_path: Path) -> None:
    """The second run is made, the agent dies; the next agent's run is the second one, too."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            (app,) = plain("web")["spec"]["containers"]
            await at.pod("web", containers=[app | {"command": ["sh", "-c", "sleep 5; exit 3"]}])
            await at.passes(3)
            await at.end()
            await at.begin(runtime=Stuck(at.sim.runtime))
            await at.passes(5)
            assert states(at) == [(0, "EXITED"), (1, "CREATED")]
            await at.end()
            await at.begin()
            await at.passes(3)
            assert (states(at), await restarts(at, "web")) == ([(0, "EXITED"), (1, "RUNNING")], (1, True))

    run(tale())
