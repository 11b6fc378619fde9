"""An agent that is restarted while its node is short of something, or while nobody looked."""

from pathlib import Path
from typing import Any

import msgspec
from tests.engine.agent.resizing import rig
from tests.engine.agent.resizing.shrinks import BIG, OWN, QUIET_S, passes, phase
from tests.engine.agent.world import amounts, is_ready, world

from flexlet.api.units import GIB
from flexlet.testing import run


def test_a_restart_does_not_make_the_time_shorter(tmp_path: Path) -> None:
    """The agent dies in the middle: the next one waits anew, and comes to the same end."""

    async def play() -> None:
        async with world(tmp_path, rig.machine()) as there:
            await there.create("big", {"a": BIG})
            await there.until("big", is_ready)
            there.node.host.unplug_memory(GIB)
            await passes(20)
            await there.node.kill()
            await passes(60)
            await there.node.start()
            await passes(QUIET_S - 2)
            assert is_ready(await there.get("big"))
            await passes(6)
            assert phase(await there.get("big")) == "Failed OutOfmemory"
            await rig.rested(there)

    run(play())


def test_a_restart_loses_nobody_whose_place_comes_back(tmp_path: Path) -> None:
    async def play() -> None:
        async with world(tmp_path, rig.machine("0-1", config=rig.STATIC)) as there:
            uid = await there.create("own", {"a": OWN})
            await there.until("own", is_ready)
            there.node.host.sleep(1)
            await passes(10)
            await there.node.kill()
            await there.node.start()
            await passes(10)
            there.node.host.wake(1)
            await passes(2 * QUIET_S)
            assert is_ready(await there.get("own"))
            assert rig.books(there)["cpu_manager_state"]["entries"] == {uid: {"a": "1"}}
            await rig.rested(there)

    run(play())


def test_size_generation_and_condition_agree_after_a_restart(tmp_path: Path) -> None:
    """Whatever the Node says in between, it says of one size."""

    async def play() -> None:
        async with world(tmp_path, rig.machine()) as there:
            await there.create("web", {"a": amounts("100m,64Mi")})
            await there.until("web", is_ready)
            seen: set[tuple[str, str]] = set()

            def look(event: Any) -> None:
                found = msgspec.json.decode(event.row.value)
                number = found["metadata"]["annotations"]["flexlet.io/generation"]
                seen.add((number, found["status"]["capacity"]["memory"]))
                if number == "1":
                    reasons.append(rig.condition(found)["reason"])

            reasons: list[str] = []
            await there.node.kill()
            there.node.host.unplug_memory(GIB)
            there.cluster.store.subscribe("nodes", look)
            await there.node.start()
            await passes(30)
            await rig.rested(there)
            assert seen == {("1", "8Gi"), ("2", "7Gi")}
            assert set(reasons) <= {"InProgress"}

    run(play())
