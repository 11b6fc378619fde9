"""Logs, leftovers, images, and what is given back: on a real agent over a simulated machine."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from tests.engine.agent.nodes import Node, node, run

from flexlet.adapters.meters import Ledger
from flexlet.adapters.sim.images import made
from flexlet.api.units import PodUid
from flexlet.core.imagegc import ImagePolicy
from flexlet.core.resize.allocation import NOTHING
from flexlet.core.stats.readings import FsReading, NodeReading
from flexlet.core.stats.sources import NodeSource
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.chores import LogChore, Reclaiming, Sweeping
from flexlet.engine.agent.images import ImageKeeper
from flexlet.engine.agent.measuring import FULL
from flexlet.errors import HostError, RuntimeFault


class Rotator:
    """Notes what it is asked to look at."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def rotate(self, logs: Sequence[tuple[str, Path]]) -> None:
        self.asked.append([path.name for _, path in logs])


class Sweeper:
    """Notes whom it is told to know."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    async def sweep(self, known: Collection[str]) -> None:
        self.known = set(known)


class Disk:
    """A file system for images of 1000 bytes."""

    def __init__(self) -> None:
        self.available: int | None = 1000

    async def measure(self, source: NodeSource, depth: str = FULL) -> NodeReading:
        del depth
        fs = FsReading(time=0, capacity=None if self.available is None else 1000, available=self.available)
        return NodeReading(name=source.name, time=0, image_fs=fs)


def test_logs_of_running_containers_are_looked_at_now_and_then(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent, rotator = at.make(), Rotator()
            agent.take_on(LogChore(agent.loop, rotator, at.clock, 10))
            await at.resume(agent)
            await at.passes(25)
            assert rotator.asked == []
            await at.pod("web")
            await at.passes(20)
            assert rotator.asked == [["0.log"], ["0.log"]]

    run(tale())


def test_what_nobody_knows_is_swept_up(tmp_path: Path) -> None:
    """Directories and book entries of unknown pods go; those of known, running and expected ones stay."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            agent, sweeper = at.make(), Sweeper()
            sweeping = Sweeping(agent.loop, agent.tools, agent.watching, lambda: ["expected"], sweeper)
            agent.take_on(sweeping)
            await at.resume(agent)
            uid = await at.pod("web")
            pods = tmp_path / "kubelet/pods"
            for name in ("stranger", "expected"):
                (pods / name).mkdir(parents=True)
                await agent.tools.ledger.allocated.put(PodUid(name), NOTHING)
            await at.passes(65)
            assert sorted(each.name for each in pods.iterdir()) == sorted((uid, "expected"))
            assert set(agent.tools.ledger.allocated.uids()) == {uid, "expected"}
            assert sweeper.known == {uid, "expected"}

    run(tale())


def test_a_directory_that_resists_is_told_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = at.make()
            agent.take_on(Sweeping(agent.loop, agent.tools, agent.watching, lambda: ()))

            async def refuse(uid: str) -> None:
                raise HostError(f"busy: {uid}")

            monkeypatch.setattr(agent.tools.files, "remove_pod", refuse)
            (tmp_path / "kubelet/pods/stranger").mkdir(parents=True)
            await at.resume(agent)
            await at.passes(125)

    run(tale())
    told = [each.getMessage() for each in caplog.records if "left behind" in each.getMessage()]
    assert told == ["cannot remove what a pod left behind: busy: stranger"] * 2


def keeper(at: Node, agent: Agent, disk: Disk, **policy: float) -> ImageKeeper:
    given = ImagePolicy(**policy)  # type: ignore[arg-type]
    return ImageKeeper(given, at.sim.runtime, disk, agent.loop, agent.selfview, agent.machine, at.clock, Ledger())


def names(at: Node) -> set[str]:
    return {tag.rpartition("/")[2] for image in at.sim.containerd.images.all() for tag in image.tags}


def test_a_full_disk_costs_images_that_nobody_uses(tmp_path: Path) -> None:
    """Not the pinned one, not one in use, and none while it is new."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            for name in ("busybox:1", "old:1"):
                at.sim.containerd.images.add(made(name))
            agent, disk = at.make(), Disk()
            agent.take_on(keeper(at, agent, disk))
            await at.resume(agent)
            await at.pod("web")
            await at.passes(290)
            disk.available = 100
            at.sim.containerd.images.add(made("new:1"))
            assert {"busybox:1", "old:1", "new:1", "pause:3.10"} <= names(at)
            await at.passes(20)
            assert "old:1" not in names(at)
            assert {"busybox:1", "new:1", "pause:3.10"} <= names(at)
            assert agent.selfview.facts is not None
            assert agent.selfview.facts.image_capacity == 1000

    run(tale())


def test_if_that_is_not_enough_the_node_is_told(tmp_path: Path) -> None:
    """What lacks space at once, and failing twice in a row besides."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            at.sim.containerd.images.present.clear()
            agent, disk = at.make(), Disk()
            disk.available = 0
            agent.take_on(keeper(at, agent, disk))
            await at.resume(agent)
            await at.passes(310)
            told = [(each["reason"], each["message"]) for each in await at.cluster.events()]
            text = next(message for reason, message in told if reason == "FreeDiskSpaceFailed")
            assert text.startswith(
                "Insufficient free disk space on the node's image filesystem (100% of 1000 B used)"
            )
            assert ("ImageGCFailed", text) in told

    run(tale())


def test_a_disk_without_size_is_a_failure(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent, disk = at.make(), Disk()
            disk.available = None
            agent.take_on(keeper(at, agent, disk))
            await at.resume(agent)
            await at.passes(310)
            told = [(each["reason"], each["message"]) for each in await at.cluster.events()]
            assert ("ImageGCFailed", "invalid capacity 0 on image filesystem") in told

    run(tale())


def test_a_runtime_that_does_not_answer_removes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            agent = at.make()
            images = keeper(at, agent, Disk())
            await at.resume(agent)

            async def refuse() -> None:
                raise RuntimeFault("gone")

            monkeypatch.setattr(at.sim.runtime, "images", refuse)
            await Reclaiming(agent.loop, agent.hands, images)(["images"])
            assert await images._collect() == "gone"

    run(tale())
    assert "cannot free images: gone" in caplog.text


def test_what_is_kept_for_its_logs_is_given_back(tmp_path: Path) -> None:
    """Containers of pods that have ended go; what the API says of them stays."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            at.sim.containerd.images.add(made("old:1"))
            agent = at.make()
            images = keeper(at, agent, Disk(), min_age_s=0)
            await at.resume(agent)
            once = {"name": "app", "image": "busybox:1", "command": ["true"]}
            await at.pod("job", restartPolicy="Never", containers=[once])
            await at.pod("web")
            await at.passes(10)
            before = (await at.cluster.pod("job"))["status"]
            assert before["phase"] == "Succeeded"
            await Reclaiming(agent.loop, agent.hands, images)(["containers", "images"])
            await at.passes(5)
            assert [each.state for each in at.sim.containerd.containers.values()] == ["RUNNING"]
            assert (await at.cluster.pod("job"))["status"] == before
            assert "old:1" not in names(at)

    run(tale())
