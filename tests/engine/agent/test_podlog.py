"""What an operator reads in the agent's log: whole lines, on a simulated node."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from tests.engine.agent.nodes import NODE, Node, node, plain, run

from flexlet.api.status import internal
from flexlet.errors import RuntimeFault

IDS = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(?<=id=)[^ ]+")


class Failing:
    """Something of which one call fails for a while."""

    def __init__(self, inner: Any, name: str, fault: Exception) -> None:
        self._inner = inner
        self._name = name
        self._fault = fault
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        if name == self._name and self.is_away:
            return self._fail
        return getattr(self._inner, name)

    async def _fail(self, *_: Any, **__: Any) -> Any:
        raise self._fault


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="flexlet.agent")
    return caplog


def lines(log: pytest.LogCaptureFixture) -> list[str]:
    """What was logged since the last time, without ids."""
    found = [IDS.sub("ID", each.getMessage()) for each in log.records if each.name == "flexlet.agent"]
    log.clear()
    return found


def container(**more: Any) -> dict[str, Any]:
    (app,) = plain("web")["spec"]["containers"]
    return {**app, **more}


async def resize(at: Node, name: str, cpu: str) -> None:
    body = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]}}
    await at.cluster.resize(name, body)


def test_the_life_of_a_pod_is_a_line_for_each_step(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            (size,) = lines(log)
            assert size.startswith("node allocatable changed cpu=none->2 ephemeral-storage=none->")
            await at.pod("web", containers=[container(command=["sh", "-c", "sleep 5; exit 3"])])
            await at.passes(7)
            await at.cluster.delete("web")
            await at.passes(10)
            whose = "pod=default/web uid=ID"
            assert lines(log) == [
                f"pod admitted {whose}",
                f"container started {whose} container=app id=ID",
                f"pod started {whose}",
                f"container exited {whose} container=app exit_code=3 reason=Error id=ID",
                f"container restarted {whose} container=app restarts=1 id=ID",
                f"container exited {whose} container=app exit_code=137 reason=Error id=ID",
                f"pod terminated {whose} reason=Deleted",
            ]

    run(tale())


def test_an_idle_node_and_a_restarted_agent_say_nothing_of_pods(
    tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            await at.pod("web")
            await at.passes(5)
            lines(log)
            await at.passes(600)
            assert lines(log) == []
            await at.end()
            await at.begin()
            await at.passes(600)
            assert [each for each in lines(log) if "pod=" in each] == ["pod admitted pod=default/web uid=ID"]

    run(tale())


def test_a_rejected_pod_is_told_with_its_reason(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            lines(log)
            await at.pod("large", containers=[container(resources={"requests": {"cpu": "64"}})])
            await at.passes(2)
            short = "cpu, requested: 64000, used: 0, capacity: 2000"
            told = f"Pod was rejected: Node didn't have enough resource: {short}"
            whose = "pod=default/large uid=ID"
            assert lines(log) == [f'pod rejected {whose} reason=OutOfcpu message="{told}"']

    run(tale())


def test_a_resize_is_allocated_and_actuated_or_waits(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            await at.begin()
            for name in ("web", "other"):
                await at.pod(name, containers=[container(resources={"requests": {"cpu": "500m"}})])
            await at.passes(5)
            lines(log)
            await resize(at, "web", "1")
            await at.passes(3)
            whose = "pod=default/web uid=ID generation=2"
            assert lines(log) == [
                f'resize allocated {whose} resources="app cpu 1"',
                f"resize actuated {whose}",
            ]
            await resize(at, "other", "1900m")
            await at.passes(3)
            (deferred,) = lines(log)
            assert deferred.startswith('resize deferred pod=default/other uid=ID generation=2 message="Node ')

    run(tale())


def test_a_lost_connection_is_told_once_and_when_it_is_back(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            runtime = Failing(at.sim.runtime, "overview", RuntimeFault("no socket"))
            cluster = Failing(at.cluster.as_node(NODE), "list", internal("away"))
            cluster.is_away = True
            at.make(runtime=runtime, cluster=cluster)
            await at.resume(at.agent)
            await at.passes(60)
            runtime.is_away = True
            await at.passes(30)
            cluster.is_away = runtime.is_away = False
            await at.passes(30)
            assert [each for each in lines(log) if each.startswith("connection")] == [
                'connection lost to="API server" error="Internal error occurred: away"',
                'connection lost to="container runtime" error="no socket"',
                'connection regained to="container runtime" after_s=30',
                'connection regained to="API server" after_s=93',
            ]

    run(tale())


def test_an_error_of_the_journal_is_logged_once(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    """A sandbox that cannot be made again and again for one reason is one line."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            fault = RuntimeFault("no network")
            runtime = Failing(at.sim.runtime, "run_sandbox", fault)
            runtime.is_away = True
            await at.begin(runtime=runtime)
            lines(log)
            await at.pod("web")
            await at.passes(300)
            whose = "pod=default/web uid=ID"
            assert lines(log) == [
                f"pod admitted {whose}",
                f'error {whose} error="RunSandbox failed: rpc error: code = Unknown desc = no network [0.000 s]"',
            ]

    run(tale())
