"""The agent as its endpoint sees it."""

import json

from msgspec.structs import replace
from tests.core.agent.builders import SETUP, UID, container, living, pod, record, run

from flexlet.api.nodepod.pod import NodeContainerStatus
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.logs.runs import Reported
from flexlet.core.runtime.shown import EXITED
from flexlet.engine.agent.views import AgentViews
from flexlet.ports.nodeviews import ContainerView, PodView, Run

A = container("a", tty=True)


def views(*records: PodRecord) -> AgentViews:
    world = World(setup=SETUP, pods={each.uid: each for each in records})

    def nothing() -> None:
        raise AssertionError("nobody asked for the machine")

    return AgentViews(lambda: world, nothing, b"{}", lambda: "slow")  # type: ignore[arg-type]


def living_pod() -> PodRecord:
    told = NodeContainerStatus(
        name="a",
        state={"waiting": {"reason": "CrashLoopBackOff"}},
        last_state={"terminated": {"containerID": "containerd://a#0"}},
    )
    of = pod(A)
    of = replace(of, status=replace(of.status, container_statuses=(told,)))
    return living(of, run(A, 1, log_path="/l/1"), run(A, 0, EXITED, log_path="/l/0"))


def test_a_pod_is_shown_with_its_runs_and_what_was_reported() -> None:
    expected = PodView(
        namespace="ns",
        name="p",
        uid=UID,
        mirror_uid="",
        sandbox_id="s0",
        containers=(
            ContainerView(
                name="a",
                tty=True,
                stdin=False,
                reported=Reported(
                    waiting="CrashLoopBackOff", running=None, terminated=None, last_terminated="a#0"
                ),
                runs=(Run("a#1", "/l/1", is_running=True), Run("a#0", "/l/0", is_running=False)),
            ),
        ),
    )
    seen = views(living_pod())
    assert (seen.pod("ns", "p"), seen.pod("ns", "q"), seen.pod("other", "p")) == (expected, None, None)


def test_pods_that_are_gone_are_not_desired_but_run_until_they_stop() -> None:
    seen = views(replace(living_pod(), gone=True))
    lists = [json.loads(each) for each in (seen.desired_pods(), seen.running_pods())]
    assert [(each["kind"], [item["metadata"]["name"] for item in each["items"]]) for each in lists] == [
        ("PodList", []),
        ("PodList", ["p"]),
    ]
    assert (seen.pod("ns", "p"), seen.is_running("a#1"), seen.is_running("a#0")) == (None, True, False)


def test_a_pod_of_which_nothing_is_there_yet() -> None:
    seen = views(record(pod(A)))
    found = seen.pod("ns", "p")
    assert found is not None
    assert (found.sandbox_id, found.containers[0].runs, found.containers[0].reported) == ("", (), None)
    assert (seen.health(), seen.configuration(), json.loads(seen.running_pods())["items"]) == ("slow", b"{}", [])
