"""Pods that are rejected, on an agent: the API learns it at once."""

import asyncio
from pathlib import Path
from typing import Any

from tests.engine.agent.nodes import Node, node, plain, run

from flexlet.core.runtime.shown import RuntimePod


class Silent:
    """A runtime that lists what it has and never answers a closer question."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def inspect(self, uid: str) -> RuntimePod:
        await asyncio.Event().wait()
        raise AssertionError(uid)


async def outcome(at: Node, name: str) -> tuple[str, str]:
    status = (await at.cluster.pod(name))["status"]
    return status["phase"], status.get("reason", "")


def test_a_rejection_does_not_wait_for_the_runtime(tmp_path: Path) -> None:
    """Neither one for want of room nor one of a feature that is not there."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(runtime=Silent(at.sim.runtime))
            (app,) = plain("large")["spec"]["containers"]
            await at.pod("large", containers=[app | {"resources": {"requests": {"cpu": "64"}}}])
            volumes = [{"name": "v", "csi": {"driver": "example.com"}}]
            await at.pod("strange", volumes=volumes)
            await at.passes(1)
            assert await outcome(at, "large") == ("Failed", "OutOfcpu")
            assert await outcome(at, "strange") == ("Failed", "PodFeatureUnsupported")

    run(tale())
