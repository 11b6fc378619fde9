"""What somebody else writes into the agent's cgroups does not stay."""

from pathlib import Path
from typing import Final

from tests.engine.agent.nodes import Node, node, run

from flexlet.core.hotplug.settings import ResizeSettings

LIMITED: Final = {
    "name": "app",
    "image": "busybox:1",
    "command": ["sleep", "1000000"],
    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}},
}
CHANGED: Final = {"memory.max": "max", "cpu.max": "max 100000", "cpu.weight": "100"}


def files(at: Node, path: str) -> dict[str, str | None]:
    return {name: at.sim.kernel.read(path, name) for name in CHANGED}


async def changed_behind_its_back(at: Node, path: str) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The files before somebody took the values away, and after the next look."""
    before = files(at, path)
    for name, text in CHANGED.items():
        at.sim.kernel.write(path, name, text)
    assert files(at, path) == CHANGED != before
    await at.passes(120)
    return before, files(at, path)


def test_values_above_the_pods_come_back(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin(resize=ResizeSettings(plug=True))
            await at.pod("web", containers=[LIMITED])
            await at.passes(5)
            for path in ("kubepods", "kubepods/burstable", "kubepods/besteffort"):
                before, after = await changed_behind_its_back(at, path)
                assert after == before

    run(tale())


def test_values_of_a_running_pod_come_back(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            uid = await at.pod("web", containers=[LIMITED])
            await at.passes(5)
            before, after = await changed_behind_its_back(at, f"kubepods/burstable/pod{uid}")
            assert after == before

    run(tale())
