import errno
import os
from pathlib import Path
from typing import Protocol

import pytest

from flexlet.adapters import parts as adapter
from flexlet.adapters.parts import SysfsParts
from flexlet.adapters.sim.plugging import SimHardware
from flexlet.api.units import GIB
from flexlet.core.machine.parts import Part, PartRefused
from flexlet.errors import HostError
from flexlet.ports.parts import Parts

CPU, BLOCK = Part("cpu", 1), Part("memory", 3)


class World(Protocol):
    """A machine with a CPU 1 and a block 3, and how they are."""

    parts: Parts

    def state(self, part: Part) -> bool: ...


class Tree:
    """Switches that are plain files: the last word that was written is the state."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.parts: Parts = SysfsParts(str(root))
        for part, word in ((CPU, "1"), (BLOCK, "online")):
            self.place(part).parent.mkdir(parents=True)
            self.place(part).write_text(word)

    def place(self, part: Part) -> Path:
        return self._root / part.switch.lstrip("/")

    def state(self, part: Part) -> bool:
        return self.place(part).read_text()[:2] in ("1", "on")


class Simulated:
    """The machine of stories."""

    def __init__(self) -> None:
        self.hardware = SimHardware("0-1", GIB)
        self.parts: Parts = self.hardware

    def state(self, part: Part) -> bool:
        if part.kind == "cpu":
            return part.number in self.hardware.awake
        return self.hardware.blocks[part.number] == "online"


@pytest.fixture(params=["sysfs", "sim"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return Tree(tmp_path) if request.param == "sysfs" else Simulated()


@pytest.mark.parametrize("part", [CPU, BLOCK])
async def test_parts_go_offline_and_come_online(world: World, part: Part) -> None:
    """The contract of the port; twice is as good as once."""
    for _ in range(2):
        assert await world.parts.offline(part, 10) is None
        assert not world.state(part)
    for _ in range(2):
        assert await world.parts.online(part) is None
        assert world.state(part)


@pytest.mark.parametrize("part", [Part("cpu", 9), Part("memory", 99)])
async def test_a_part_that_is_not_there_is_a_refusal(world: World, part: Part) -> None:
    """It may have been unplugged since."""
    for refused in (await world.parts.online(part), await world.parts.offline(part, 10)):
        assert refused is not None
        assert (refused.part, refused.reason) == (part, "ENOENT")


@pytest.mark.parametrize(("as_", "text"), [("online", "online"), ("online_movable", "online_movable")])
async def test_the_zone_is_written(as_: str, text: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.place(BLOCK).write_text("")
    await tree.parts.online(BLOCK, as_)  # type: ignore[arg-type]
    assert tree.place(BLOCK).read_text() == text


async def test_the_kernel_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EBUSY is an answer; a lack of rights is a fault that says what is needed."""
    tree = Tree(tmp_path)
    answers = iter([errno.EBUSY, errno.EACCES])
    monkeypatch.setattr(adapter, "_write", lambda *_: next(answers))
    assert await tree.parts.online(CPU) == PartRefused(
        part=CPU,
        reason="EBUSY",
        message="cannot write 1 to /sys/devices/system/cpu/cpu1/online: Device or resource busy",
    )
    with pytest.raises(HostError, match="Permission denied: flexlet needs root and a writable /sys"):
        await tree.parts.online(CPU)


async def test_offlining_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A pipe that nobody reads stands for memory that nobody gives up: the child hangs and is killed."""
    tree = Tree(tmp_path)
    tree.place(BLOCK).unlink()
    os.mkfifo(tree.place(BLOCK))
    refused = await tree.parts.offline(BLOCK, 0.2)
    assert refused is not None
    assert (refused.reason, refused.message) == (
        "ETIMEDOUT",
        "cannot write offline to /sys/devices/system/memory/memory3/state: Connection timed out",
    )


async def test_a_simulated_part_refuses() -> None:
    hardware = SimHardware("0-1", GIB)
    hardware.refuse("memory3", errno.EINVAL)
    refused = await hardware.offline(BLOCK, 1)
    assert refused is not None
    assert (refused.reason, hardware.memory) == ("EINVAL", GIB)
