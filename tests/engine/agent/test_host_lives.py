"""Random lives of several agents on one host: nobody is ever promised what the host does not have."""

import random
from pathlib import Path

import pytest
from tests.engine.agent.test_hosting import COUNT, SYSTEM, WHOLE, Host, host

from flexlet.api.status import ApiError
from flexlet.core.agent import ballooning
from flexlet.core.nodesize import sizes
from flexlet.testing.memory import MemoryLedger
from flexlet.testing.simtime import run

STEPS = 40


class Life:
    """What may happen, by chance."""

    def __init__(self, at: Host, seed: int) -> None:
        self.at = at
        self.dice = random.Random(seed)  # noqa: S311 chance that can be repeated
        self.pods: list[str] = []
        self.made = 0

    async def step(self) -> None:
        name = self.dice.choice(list(self.at.nodes))
        deed = self.dice.choice((self.inflate, self.inflate, self.pod, self.pod, self.leave, self.restart))
        await deed(name)
        self.check()

    async def inflate(self, name: str) -> None:
        try:
            await self.at.resize(name, self.dice.randint(1, 59), self.dice.randint(1, 239))
        except ApiError:
            await self.at.balloon(name, self.dice.randint(1, 59), self.dice.randint(1, 239))

    async def pod(self, name: str) -> None:
        self.made += 1
        self.pods.append(f"p{self.made}")
        await self.at.pod(f"p{self.made}", name, self.dice.randint(1, 20))

    async def leave(self, _: str) -> None:
        if self.pods:
            gone = self.pods.pop(self.dice.randrange(len(self.pods)))
            await self.at.cluster.delete(gone, grace_s=0)
            await self.at.settle()

    async def restart(self, name: str) -> None:
        await self.at.nodes[name].restart()
        await self.at.settle(5)

    def check(self) -> None:
        """What pods hold all together fits, whatever the balloons were asked for in which order."""
        worlds = [node.agent.loop.world for node in self.at.nodes.values() if node.agent is not None]
        held = [{**sizes.NOTHING, **ballooning.workload(each)} for each in worlds]
        total = sizes.total(held)
        assert all(total[name] <= WHOLE[name] for name in WHOLE), (total, held)

    async def check_balloons(self) -> None:
        """Not one was ended, nor refused."""
        for name in self.at.nodes:
            try:
                found = await self.at.cluster.pod(f"balloon-{name}", SYSTEM)
            except ApiError:
                continue
            assert found["status"]["phase"] == "Running", found["status"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(COUNT))
def test_random_lives_on_one_host(tmp_path: Path, seed: int) -> None:
    async def story() -> None:
        async with host(tmp_path, MemoryLedger()) as at:
            life = Life(at, seed)
            for _ in range(STEPS):
                await life.step()
            await life.check_balloons()

    run(story())
