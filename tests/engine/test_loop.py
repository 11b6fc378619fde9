"""Fold, decide, act, in this order and no other."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.engine.fakes import FakeClock, FakeCluster

from flexlet.api import status
from flexlet.core.actions import ApiPlan, PatchObject, Ref
from flexlet.core.faults import Faults, LookFault
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.views.objects import ObjectView
from flexlet.engine.executor import Executor
from flexlet.engine.fanout import Fanout
from flexlet.engine.feed import Feed
from flexlet.engine.loop import DECIDING, Loop, LoopStatistics
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import NODES, PODS
from flexlet.ports.cluster import Ref as PortRef

POD_REF = ("", "v1", "pods")


class Script:
    """A decider that notes everything and plays back plans, one per round."""

    name = "script"

    def __init__(self, *plans: ApiPlan) -> None:
        self.plans = list(plans)
        self.diary: list[object] = []
        self.on_decide: Callable[[], None] = lambda: None

    def fold(self, observation: Observation) -> None:
        match observation:
            case Seen(revision=revision, view=view):
                self.diary.append((view.name if view else "", revision))
            case Vanished(name=name):
                self.diary.append(f"{name} gone")
            case Failed(code=code):
                self.diary.append(code)

    def decide(self, now: float) -> ApiPlan:
        del now
        self.diary.append("decide")
        self.on_decide()
        return self.plans.pop(0) if self.plans else ApiPlan()


class Stage:
    """A loop, its decider and what it acts on."""

    def __init__(self, *plans: ApiPlan) -> None:
        self.cluster = FakeCluster()
        self.clock = FakeClock()
        self.script = Script(*plans)

    def loop(
        self,
        *refs: PortRef,
        shared: tuple[Fanout, ...] = (),
        pace_s: float = 0.0,
        faults: Faults | None = None,
    ) -> Loop:
        executor = Executor(self.cluster, Recorder(self.cluster, self.clock))
        feeds = [Feed(self.cluster, self.clock, ref) for ref in refs]
        return Loop(
            self.script,
            feeds,
            executor,
            self.clock,
            shared=shared,
            pace_s=pace_s,
            open_feed=self.open_feed,
            faults=faults,
        )

    def open_feed(self, ref: Ref) -> Feed:
        return Feed(self.cluster, self.clock, PortRef(*ref))

    async def until(self, done: Callable[[], bool]) -> None:
        for _ in range(200):
            if done():
                return
            await asyncio.sleep(0)
        raise AssertionError(self.script.diary)


@asynccontextmanager
async def running(*parts: Loop | Fanout) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in parts]
        yield
        for task in tasks:
            task.cancel()


def pod(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "default"}}


def patch(name: str, value: int = 1) -> PatchObject:
    return PatchObject(ref=POD_REF, namespace="default", name=name, patch={"value": value})


async def test_nothing_is_decided_before_every_feed_has_listed() -> None:
    """A decider that knows the pods but not the nodes would think the nodes are gone."""
    stage = Stage()
    stage.cluster.put("pods", pod("a"))
    nodes = Fanout(Feed(stage.cluster, stage.clock, NODES))
    loop = stage.loop(PODS, shared=(nodes,))
    async with running(loop):
        await stage.until(lambda: bool(stage.script.diary))
        assert stage.script.diary == [("a", 1)]
        async with running(nodes):
            await stage.until(lambda: "decide" in stage.script.diary)


async def test_answers_are_folded_before_the_next_decision() -> None:
    stage = Stage(ApiPlan((patch("a"),)))
    stage.cluster.put("pods", pod("a"))
    loop = stage.loop(PODS)
    async with running(loop):
        await stage.until(lambda: stage.script.diary.count("decide") >= 2)
    assert stage.script.diary[:4] == [("a", 1), "decide", ("a", 2), "decide"]
    assert loop.statistics() == LoopStatistics(loop.rounds, actions=1, failures=0)


async def test_refusals_are_folded_and_met_with_patience() -> None:
    """A server in trouble is asked ever more rarely."""
    plan = ApiPlan((patch("a"),))
    stage = Stage(plan, plan, plan)
    stage.cluster.put("pods", pod("a"))
    stage.cluster.refuse["patch"] = status.failure(500)
    loop = stage.loop(PODS)
    async with running(loop):
        await stage.until(lambda: stage.script.diary.count("decide") >= 4)
    assert stage.script.diary[:7] == [("a", 1), "decide", 500, "decide", 500, "decide", 500]
    assert [round(pause, 3) for pause in stage.clock.slept[:3]] == [0.05, 0.1, 0.2]
    assert loop.statistics().failures == 3


async def test_a_plan_names_the_time_of_the_next_decision() -> None:
    stage = Stage(ApiPlan(wake_at=1_000_042.0))
    async with running(stage.loop(PODS)):
        await stage.until(lambda: stage.script.diary.count("decide") >= 2)
    assert stage.clock.now() == 1_000_042.0


async def test_a_burst_of_changes_is_one_round() -> None:
    stage = Stage()
    async with running(stage.loop(PODS, pace_s=0.5)):
        await stage.until(lambda: stage.script.diary == ["decide"])
        for name in "abc":
            stage.cluster.put("pods", pod(name))
        await stage.until(lambda: stage.script.diary.count("decide") >= 2)
    assert stage.script.diary[:5] == ["decide", ("a", 1), ("b", 2), ("c", 3), "decide"]
    assert stage.clock.slept == [0.5]


async def test_a_plan_may_ask_to_follow_more() -> None:
    stage = Stage(ApiPlan(follow=(("", "v1", "nodes"),)), ApiPlan(follow=(("", "v1", "nodes"),)))
    stage.cluster.put("nodes", {"metadata": {"name": "n"}})
    async with running(stage.loop(PODS)):
        await stage.until(lambda: stage.script.diary == ["decide", ("n", 1), "decide"])
        stage.cluster.put("pods", pod("a"))
        await stage.until(lambda: stage.script.diary[-1] == "decide" and ("a", 2) in stage.script.diary)
    assert stage.script.diary.count(("n", 1)) == 1


async def test_news_older_than_ones_own_write_is_not_folded() -> None:
    """The watch may still be bringing the state before the patch when its answer is there."""
    stage = Stage(ApiPlan((patch("a"),)))
    stage.cluster.put("pods", pod("a"))
    pods = Fanout(Feed(stage.cluster, stage.clock, PODS))
    loop = stage.loop(shared=(pods,))
    [tell] = pods._readers
    before = Seen(POD_REF, b"", 1, ObjectView(uid="uid-a", name="a"))
    tell([before])
    async with running(loop):
        await stage.until(lambda: ("a", 2) in stage.script.diary)
        tell([before])
        tell([Vanished(POD_REF, "default", "a", "uid-a")])
        await stage.until(lambda: stage.script.diary[-1] == "decide")
    told = [entry for entry in stage.script.diary if entry != "decide"]
    assert told == [("a", 1), ("a", 2), "a gone"]


async def test_a_loop_can_be_woken() -> None:
    """A decider may learn on other ways than by feeds; before all feeds have listed that changes nothing."""
    stage = Stage()
    loop = stage.loop(PODS)
    loop.wake()
    async with running(loop):
        await stage.until(lambda: loop.rounds == 1)
        await asyncio.sleep(0)
        assert loop.rounds == 1
        loop.wake()
        await stage.until(lambda: loop.rounds == 2)


class Touchy(Script):
    """Cannot take the pod called bad, nor decide as often as it is told to fail."""

    def __init__(self, failures: int = 0, *plans: ApiPlan) -> None:
        super().__init__(*plans)
        self.failures = failures

    def fold(self, observation: Observation) -> None:
        super().fold(observation)
        if isinstance(observation, Seen) and observation.view and observation.view.name == "bad":
            raise KeyError("spec")

    def decide(self, now: float) -> ApiPlan:
        plan = super().decide(now)
        if self.failures:
            self.failures -= 1
            raise ZeroDivisionError
        return plan


async def test_an_object_that_cannot_be_folded_is_left_out() -> None:
    """The others are folded, deciding goes on, and the object is counted until it can be read."""
    stage, faults = Stage(), Faults()
    stage.script = Touchy()
    for name in ("bad", "good"):
        stage.cluster.put("pods", pod(name))
    async with running(stage.loop(PODS, faults=faults)):
        await stage.until(lambda: stage.script.diary == [("bad", 1), ("good", 2), "decide"])
        assert (faults.count("script"), faults.held("script")) == (1, frozenset({"pods/default/bad"}))
        stage.cluster.put("pods", pod("more"))
        await stage.until(lambda: stage.script.diary[3:] == [("more", 3), "decide"])
        stage.cluster.drop("pods", "default", "bad")
        await stage.until(lambda: stage.script.diary[5:] == ["bad gone", "decide"])
    assert (faults.count("script"), faults.held("script")) == (1, frozenset())


async def test_a_decision_that_fails_is_made_again_ever_later(caplog: pytest.LogCaptureFixture) -> None:
    """And is told of once per back-off, with where it failed."""
    stage, faults = Stage(), Faults()
    stage.script = Touchy(4)
    async with running(stage.loop(PODS, faults=faults)):
        await stage.until(lambda: stage.script.diary == ["decide"] * 5)
    assert [round(pause, 3) for pause in stage.clock.slept] == [0.05, 0.1, 0.2, 0.4]
    assert (faults.count("script"), faults.held("script")) == (4, frozenset())
    assert [(record.__dict__["object"], record.exc_info is not None) for record in caplog.records] == [
        (DECIDING, True)
    ]


async def test_a_look_that_failed_is_counted_and_the_plan_carried_out() -> None:
    bad = ApiPlan((patch("a"),), faults=(LookFault("default/b", ValueError("odd")),))
    stage, faults = Stage(bad, ApiPlan(faults=(LookFault("default/b", None),))), Faults()
    stage.cluster.put("pods", pod("a"))
    held: list[frozenset[str]] = []
    stage.script.on_decide = lambda: held.append(faults.held("script"))
    loop = stage.loop(PODS, faults=faults)
    async with running(loop):
        await stage.until(lambda: stage.script.diary.count("decide") >= 2 and not faults.held("script"))
    assert held[:2] == [frozenset(), frozenset({"default/b"})]
    assert (faults.count("script"), loop.statistics().actions) == (1, 1)
