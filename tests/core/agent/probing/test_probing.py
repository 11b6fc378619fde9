"""When probes are asked, what the answers mean, and what is known in between."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID, container, deleted, pod, record, run, runtime, sidecar

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.handlers import Probe, TcpSocketAction
from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent import probing
from flexlet.core.agent.deeds import RunProbe
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.record import REJECTED, UNDECIDED, Ending, PodRecord
from flexlet.core.runtime.shown import EXITED

KINDS = ("startup", "readiness", "liveness")


def probe(**more: Any) -> Probe:
    return Probe(tcp_socket=TcpSocketAction(port=80), **more)


def probed(*kinds: str, name: str = "c", **more: Any) -> NodeContainer:
    probes: dict[str, Any] = {f"{kind}_probe": probe(**more) for kind in kinds}
    return container(name, **probes)


def running(of: NodeContainer, **more: Any) -> PodRecord:
    known: dict[str, Any] = {"seen_at": NOW}
    return record(pod(of), runtime(run(of)), **{**known, **more})


def ask(kind: str, name: str = "c", attempt: int = 0) -> RunProbe:
    return RunProbe(uid=UID, container=name, container_id=f"{name}#{attempt}", kind=kind)


def answer(of: PodRecord, kind: str, *results: str, now: float = NOW) -> PodRecord:
    for result in results:
        of, _ = probing.answered(of, ask(kind), Answer(result=result), now)
    return of


def due(of: PodRecord, now: float) -> tuple[list[str], float | None]:
    asked, wake_at = probing.due(of, SETUP, now)
    return [f"{each.kind} {each.container_id}" for each in asked], wake_at


class TestWhen:
    """When each probe is asked."""

    def test_readiness_is_asked_at_once_the_others_on_the_beat(self) -> None:
        """A container has up to a period before liveness asks, also without an initial delay."""
        of = running(probed("readiness", "liveness", period_seconds=10), seen_at=NOW - 3)
        assert due(of, NOW) == (["readiness c#0"], NOW + 7)
        asked = answer(replace(of, underway={"probe/readiness/c": NOW}), "readiness", "success")
        assert due(replace(asked, underway={}), NOW + 7) == (["liveness c#0"], NOW + 10)

    def test_an_initial_delay_counts_from_the_start_of_the_container(self) -> None:
        of = running(probed("readiness", initial_delay_seconds=30))
        assert due(of, NOW + 29) == ([], NOW + 30)
        assert due(of, NOW + 30) == (["readiness c#0"], None)

    def test_other_probes_wait_for_startup(self) -> None:
        of = running(probed(*KINDS, period_seconds=5))
        assert due(of, NOW) == (["startup c#0"], None)
        assert due(answer(of, "startup", "success"), NOW + 5) == (["readiness c#0", "liveness c#0"], None)
        failed = answer(of, "startup", "failure", "failure", "failure")
        assert due(failed, NOW + 60) == ([], None)

    def test_nothing_is_asked_twice_at_a_time(self) -> None:
        of = running(probed("readiness"), underway={"probe/readiness/c": NOW})
        assert due(of, NOW + 60) == ([], None)

    def test_the_next_question_comes_a_period_after_the_last(self) -> None:
        of = running(probed("readiness", period_seconds=10), underway={"probe/readiness/c": NOW})
        soon = replace(answer(of, "readiness", "success", now=NOW + 1), underway={})
        assert due(soon, NOW + 2) == ([], NOW + 10)
        late = replace(answer(of, "readiness", "success", now=NOW + 30), underway={})
        assert due(late, NOW + 30) == (["readiness c#0"], None)

    def test_a_new_run_is_asked_anew(self) -> None:
        of = answer(running(probed("liveness", failure_threshold=1)), "liveness", "failure")
        assert due(of, NOW + 60) == ([], None)
        restarted = replace(of, shown=runtime(run(pod_container(of), 1), run(pod_container(of), 0, EXITED)))
        assert due(restarted, NOW + 60) == (["liveness c#1"], None)

    @pytest.mark.parametrize(
        "change",
        [
            {"stopping_since": NOW},
            {"ending": Ending()},
            {"pod": deleted(pod(probed(*KINDS)))},
        ],
    )
    def test_a_pod_on_its_way_out_is_asked_only_whether_it_is_ready(self, change: dict[str, Any]) -> None:
        of = answer(running(probed(*KINDS)), "startup", "success")
        assert due(replace(of, **change), NOW + 60) == (["readiness c#0"], None)

    @pytest.mark.parametrize(
        "change",
        [
            {"stopped": True},
            {"gone": True},
            {"admission": REJECTED},
            {"admission": UNDECIDED},
            {"shown": None},
            {"shown": runtime()},
            {"shown": runtime(run(container("c"), 0, EXITED))},
            {"underway": {"container/c": NOW}},
        ],
    )
    def test_only_what_runs_is_asked(self, change: dict[str, Any]) -> None:
        assert due(replace(running(probed("readiness")), **change), NOW + 60) == ([], None)

    def test_sidecars_are_asked_and_plain_init_containers_are_not(self) -> None:
        kept, plain = sidecar("s", readiness_probe=probe()), container("i", readiness_probe=probe())
        of = record(pod(container("c"), init=(kept, plain)), runtime(run(plain), run(kept)), seen_at=NOW)
        assert due(of, NOW) == (["readiness s#0"], None)

    @given(st.integers(1, 60), st.text("abc", min_size=1, max_size=8), st.sampled_from(KINDS[1:]))
    def test_after_a_restart_of_the_agent_questions_are_spread_over_a_period(
        self, period: int, uid: str, kind: str
    ) -> None:
        of = running(probed(kind, period_seconds=period))
        known = replace(of, pod=replace(of.pod, metadata=replace(of.pod.metadata, uid=uid)))
        fresh = replace(SETUP, started_at=NOW)
        _, wake_at = probing.due(known, fresh, NOW - 0.001)
        assert wake_at is not None
        assert NOW <= wake_at <= NOW + period
        assert probing.due(known, fresh, wake_at)[0] == (replace(ask(kind), uid=uid),)


def pod_container(of: PodRecord) -> NodeContainer:
    return of.pod.spec.containers[0]


class TestVerdicts:
    """Thresholds, and what they decide."""

    def test_before_the_first_answer_a_run_is_alive_and_neither_started_nor_ready(self) -> None:
        of = running(probed(*KINDS))
        assert probing.is_alive(of, SETUP, "c")
        assert not probing.has_started(of, SETUP, "c")
        assert not probing.is_ready(of, SETUP, "c")
        plain = running(container("c"))
        assert (probing.has_started(plain, SETUP, "c"), probing.is_ready(plain, SETUP, "c")) == (True, True)

    def test_readiness_needs_its_threshold_both_ways(self) -> None:
        of = running(probed("readiness", success_threshold=2, failure_threshold=3))
        seen = []
        for result in ["success", "success", "failure", "failure", "success", "failure", "failure", "failure"]:
            of = answer(of, "readiness", result)
            seen.append(probing.is_ready(of, SETUP, "c"))
        assert seen == [False, True, True, True, True, True, True, False]

    def test_liveness_condemns_a_run_once(self) -> None:
        of = running(probed("liveness", failure_threshold=2))
        assert probing.failed_liveness(answer(of, "liveness", "failure"), "c") is None
        dead = answer(of, "liveness", "failure", "failure")
        assert probing.failed_liveness(dead, "c") == "liveness"
        assert not probing.is_alive(dead, SETUP, "c")
        next_run = replace(dead, shown=runtime(run(pod_container(of), 1)))
        assert probing.is_alive(next_run, SETUP, "c")

    def test_startup_decides_once(self) -> None:
        of = running(probed("startup", failure_threshold=2))
        assert probing.has_started(answer(of, "startup", "success"), SETUP, "c")
        assert probing.failed_liveness(answer(of, "startup", "failure", "failure"), "c") == "startup"

    def test_a_warning_is_a_success_and_an_unknown_answer_is_none(self) -> None:
        of = running(probed("readiness"))
        assert probing.is_ready(answer(of, "readiness", "warning"), SETUP, "c")
        for_now = answer(of, "readiness", "success", "failure", "failure", "unknown")
        assert probing.is_ready(for_now, SETUP, "c")
        assert not probing.is_ready(answer(for_now, "readiness", "failure"), SETUP, "c")

    def test_answers_about_the_past_are_dropped(self) -> None:
        of = running(probed("readiness", "liveness", failure_threshold=1))
        old = ask("liveness", attempt=7)
        assert probing.answered(of, old, Answer(result="failure"), NOW) == (of, ())
        stopping = replace(of, stopping_since=NOW)
        assert probing.answered(stopping, ask("liveness"), Answer(result="failure"), NOW) == (stopping, ())
        assert probing.answered(of, ask("startup"), Answer(result="failure"), NOW) == (of, ())
        ended = replace(of, shown=runtime(run(pod_container(of), 0, EXITED)))
        assert probing.answered(ended, ask("readiness"), Answer(result="failure"), NOW) == (ended, ())

    def test_init_containers_are_ready_when_they_have_succeeded(self) -> None:
        plain = container("i")
        of = record(pod(container("c"), init=(plain,)), runtime(run(plain)))
        assert not probing.is_ready(of, SETUP, "i")
        for code, ready in ((0, True), (1, False)):
            done = replace(of, shown=runtime(run(plain, 0, EXITED, exit_code=code)))
            assert probing.is_ready(done, SETUP, "i") is ready

    @pytest.mark.parametrize(
        ("age_s", "known", "expected"),
        [(11, True, True), (11, False, False), (9, True, False)],
    )
    def test_a_run_older_than_the_agent_stays_as_the_api_has_it(
        self, age_s: int, known: bool, expected: bool
    ) -> None:
        """Until it was probed: restarting the agent takes nobody out of service."""
        of = running(probed("startup", "readiness", failure_threshold=1))
        status = NodeContainerStatus(name="c", container_id="containerd://c#0", started=known, ready=known)
        copy = replace(of.pod, status=replace(of.pod.status, container_statuses=(status,)))
        of, setup = replace(of, pod=copy), replace(SETUP, started_at=NOW + age_s)
        assert probing.has_started(of, setup, "c") is expected
        assert probing.is_ready(of, setup, "c") is expected
        failed = answer(of, "readiness", "failure")
        assert not probing.is_ready(failed, setup, "c")
        other = replace(status, container_id="containerd://c#9")
        stranger = replace(copy, status=replace(copy.status, container_statuses=(other,)))
        assert not probing.is_ready(replace(of, pod=stranger), setup, "c")

    @given(st.lists(st.sampled_from(["success", "failure", "unknown", "warning"]), max_size=12), st.integers(1, 4))
    def test_readiness_follows_the_last_long_enough_streak(self, results: list[str], threshold: int) -> None:
        of = answer(
            running(probed("readiness", success_threshold=threshold, failure_threshold=threshold)),
            "readiness",
            *results,
        )
        counted = [result != "failure" for result in results if result != "unknown"]
        expected = False
        for end in range(threshold, len(counted) + 1):
            streak = counted[end - threshold : end]
            if len(set(streak)) == 1:
                expected = streak[0]
        assert probing.is_ready(of, SETUP, "c") is expected


@pytest.mark.parametrize(
    ("kind", "result", "output", "told"),
    [
        ("readiness", "success", "fine", None),
        ("readiness", "failure", "no\n", ("Unhealthy", "Readiness probe failed: no\n")),
        ("startup", "failure", "", ("Unhealthy", "Startup probe failed: ")),
        (
            "liveness",
            "unknown",
            "broken",
            ("Unhealthy", "Liveness probe errored and resulted in unknown state: broken"),
        ),
        ("readiness", "warning", "moved", ("ProbeWarning", "Readiness probe warning: moved")),
    ],
)
def test_people_are_told_of_bad_answers(kind: str, result: str, output: str, told: tuple[str, str] | None) -> None:
    of = running(probed(kind))
    _, events = probing.answered(of, ask(kind), Answer(result=result, output=output), NOW)
    assert [(each.type, each.reason, each.message, each.about["fieldPath"]) for each in events] == (
        [("Warning", *told, "spec.containers{c}")] if told else []
    )
