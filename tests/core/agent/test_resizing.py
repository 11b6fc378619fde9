"""A grant becomes a size, one step at a time; what people are told about it, and what happens when it fails."""

from itertools import groupby
from typing import Any

from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, container, deleted, living, pod, run, runtime
from tests.core.agent.model import Node

from flexlet.api.nodepod import NodePod
from flexlet.api.pod import ResizePolicy, ResourceRequirements
from flexlet.core.agent import deeds
from flexlet.core.agent.deeds import Inspect, PodDeed, TakeStep
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.observations import Failed
from flexlet.core.cgroups import pods
from flexlet.core.gates import Gates
from flexlet.core.resize import conditions, podcgroup
from flexlet.core.resize.allocation import of_spec
from flexlet.core.resize.conditions import ResizeConditions
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.resize.steps import UpdateContainer, WritePodCgroup
from flexlet.core.runtime.shown import CREATED, EXITED, RUNNING

RESTARTS = (ResizePolicy(resource_name="memory", restart_policy="RestartContainer"),)
MI = 1 << 20


def sized(*containers: Any, level: ResourceRequirements | None = None, generation: int = 2) -> NodePod:
    of = pod(*containers, resources=level)
    return replace(of, metadata=replace(of.metadata, generation=generation))


def running(of: NodePod) -> Node:
    """A node on which the pod has come up; what it did until then is forgotten."""
    node = Node(of)
    node.live(5)
    assert node.running() == [each.name for each in of.spec.containers]
    node.done, node.events, node.reports = [], [], []
    return node


def work(node: Node) -> list[str]:
    """What was done about the size, in a few words each; steps of one kind in a row count once."""
    words = [_words(deed) for deed in node.done if not isinstance(deed, deeds.ReportStatus)]
    return [word for word, _ in groupby(words)]


def _words(deed: PodDeed) -> str:
    match deed:
        case TakeStep(step=WritePodCgroup(shrinks=shrinks)):
            return "pod shrinks" if shrinks else "pod grows"
        case TakeStep(step=UpdateContainer(container=name)):
            return name
        case TakeStep():
            return "record"
        case Inspect(usage=True):
            return "read usage"
        case _:
            return type(deed).__name__


def count(node: Node, word: str) -> int:
    return [_words(deed) for deed in node.done].count(word)


def reasons(node: Node) -> list[str]:
    return [event.reason for event in node.events]


ONE = container("c", "100m,64Mi", "100m,64Mi")


def test_the_pod_grows_before_its_containers_and_is_looked_at_in_the_end() -> None:
    """Two reports: that it is under way, and that it has been seen to be done."""
    node = running(pod(ONE))
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.live(1)
    assert work(node) == ["pod grows", "c", "Inspect"]
    assert reasons(node) == ["ResizeCompleted"]
    told = [status["conditions"][0]["type"] for status in node.reports]
    assert told == ["PodResizeInProgress", "PodReadyToStartContainers"]
    assert node.record.resize == conditions.NONE
    assert node.actuated.containers["c"] == node.record.pod.spec.containers[0].resources


def test_memory_in_use_is_read_before_a_limit_goes_down() -> None:
    """Then containers shrink before the pod does."""
    node = running(pod(ONE))
    node.in_use = MemoryUsage(10 * MI, {"c": 10 * MI})
    node.grant(sized(container("c", "100m,32Mi", "100m,32Mi")))
    node.live(1)
    assert work(node) == ["read usage", "c", "pod shrinks", "Inspect"]


def test_a_limit_below_what_is_in_use_is_refused_and_tried_again() -> None:
    """Soon at first, then every ten to fifteen seconds, told when the text changes; it passes when usage falls."""
    node = running(pod(ONE))
    node.in_use = MemoryUsage(40 * MI, {"c": 40 * MI})
    node.grant(sized(container("c", "100m,32Mi", "100m,32Mi")))
    node.live(2.9)
    assert (work(node), reasons(node)) == (["read usage"], ["ResizeError"])
    node.live(0.2)
    assert count(node, "read usage") == 2
    node.in_use = MemoryUsage(41 * MI, {"c": 41 * MI})
    node.live(16)
    assert (count(node, "read usage"), reasons(node)) == (3, ["ResizeError"] * 2)
    node.in_use = MemoryUsage(10 * MI, {"c": 10 * MI})
    node.live(16)
    assert work(node) == ["read usage", "c", "pod shrinks", "Inspect"]
    assert reasons(node)[2:] == ["ResizeCompleted"]


def test_a_step_that_fails_leaves_the_rest_for_the_next_attempt() -> None:
    """Increases wait; people are told once per text."""
    node = running(pod(ONE, container("d", "100m,64Mi", "100m,64Mi")))
    node.refuse = lambda deed: Failed(message="no") if isinstance(deed, TakeStep) and _words(deed) == "c" else None
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi"), container("d", "300m,64Mi", "300m,64Mi")))
    node.live(2)
    assert work(node) == ["pod grows", "c", "Inspect"]
    assert reasons(node) == ["ResizeError"]
    progress = node.record.resize.in_progress
    assert progress is not None
    assert (progress.reason, progress.message, progress.observed_generation) == ("Error", "no", 2)
    node.refuse = lambda _: None
    node.live(2)
    assert work(node)[3:] == ["c", "d", "Inspect"]
    assert reasons(node) == ["ResizeError", "ResizeCompleted"]


def test_decreases_go_on_when_one_of_them_fails() -> None:
    """As KEP-1287 promises."""
    node = running(pod(ONE, container("d", "100m,64Mi", "100m,64Mi")))
    node.refuse = lambda deed: Failed(message="no") if isinstance(deed, TakeStep) and _words(deed) == "d" else None
    node.grant(sized(container("c", "50m,64Mi", "50m,64Mi"), container("d", "50m,64Mi", "50m,64Mi")))
    node.live(2)
    assert work(node) == ["d", "c", "Inspect"]


def test_a_new_grant_ends_the_pause_after_a_failure() -> None:
    """What failed before may pass now."""
    node = running(pod(ONE))
    node.in_use = MemoryUsage(40 * MI, {"c": 40 * MI})
    node.grant(sized(container("c", "100m,32Mi", "100m,32Mi")))
    node.live(1)
    node.grant(sized(container("c", "100m,48Mi", "100m,48Mi"), generation=3))
    node.settle()
    assert (count(node, "read usage"), work(node)[1:]) == (2, ["c", "pod shrinks", "Inspect"])


def test_containers_restart_if_their_policy_asks_for_it() -> None:
    """In the same go, without back-off; the pod grows before they come back, and it is done when they have."""
    first = container("c", "100m,64Mi", "100m,64Mi", resize_policy=RESTARTS)
    node = running(pod(first, container("d", "", "100m,64Mi")))
    grown = container("c", "100m,96Mi", "100m,96Mi", resize_policy=RESTARTS)
    node.grant(sized(grown, container("d", "", "100m,64Mi")))
    node.live(1)
    assert work(node) == ["StopContainer", "pod grows", "Inspect", "PullImage", "StartContainer"]
    assert reasons(node) == ["Killing", "Pulled", "Created", "Started", "ResizeCompleted"]
    assert node.events[0].message == "Container c resize requires restart"
    assert node.actuated.containers["c"] == grown.resources
    assert [len(status["containerStatuses"]) for status in node.reports] == [2, 2]
    assert [status["containerStatuses"][0]["restartCount"] for status in node.reports] == [0, 1]


def test_a_restart_is_not_over_while_the_new_run_is_only_being_started() -> None:
    """A slow runtime shows it as created long before it runs; until then the resize goes on, and no word of it."""
    c = container("c", "100m,96Mi", "100m,96Mi", resize_policy=RESTARTS)
    of = sized(c)
    progress = conditions.progressing(ResizeConditions(), 2, NOW)
    ran = living(of, run(c), resize=progress)
    created = run(c, 1, CREATED, created_at=int((NOW + 5) * 1e9))
    record = replace(
        ran,
        shown=runtime(created, run(c, state=EXITED)),
        replaced=frozenset({"c#0"}),
        underway={"container/c": NOW + 4},
    )
    later = decide(record, SETUP, NOW + 60)
    assert (later.record.resize, later.deeds, later.events) == (progress, (), ())
    back = replace(record, shown=runtime(replace(created, state=RUNNING), run(c, state=EXITED)), underway={})
    over = decide(back, SETUP, NOW + 61)
    assert (over.record.resize, [event.reason for event in over.events]) == (
        ResizeConditions(),
        ["ResizeCompleted"],
    )


def test_a_container_that_cannot_be_stopped_fails_the_resize() -> None:
    """It keeps its old size until it can."""
    node = running(pod(container("c", "100m,64Mi", "100m,64Mi", resize_policy=RESTARTS)))
    node.refuse = lambda deed: Failed(message="stuck") if isinstance(deed, deeds.StopContainer) else None
    node.grant(sized(container("c", "100m,96Mi", "100m,96Mi", resize_policy=RESTARTS)))
    node.live(2)
    assert reasons(node) == ["Killing", "ResizeError", "FailedKillPod"]
    node.refuse = lambda _: None
    node.live(30)
    assert reasons(node)[-1] == "ResizeCompleted"


def test_what_does_not_run_is_resized_without_a_container() -> None:
    """The pod's cgroup follows at once, and the next start uses the new size."""
    node = Node(pod(ONE))
    node.refuse = lambda deed: (
        Failed(reason="ErrImagePull", message="no") if isinstance(deed, deeds.PullImage) else None
    )
    node.live(1)
    node.done, node.events = [], []
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.settle()
    assert work(node) == ["pod grows", "Inspect"]
    assert reasons(node) == ["ResizeCompleted"]


def test_pod_level_changes_alone() -> None:
    """A container with limits of its own is not touched, one that inherits is."""
    level = ResourceRequirements(requests=ONE.resources.requests, limits=ONE.resources.limits)
    own = container("c", "50m,32Mi", "50m,32Mi")
    node = running(pod(own, container("d"), resources=level))
    raised = container("x", "200m,128Mi", "200m,128Mi").resources
    node.grant(sized(own, container("d"), level=raised))
    node.live(1)
    done = work(node)
    assert (done[0], done[-1], set(done)) == ("pod grows", "Inspect", {"pod grows", "d", "record", "Inspect"})
    assert node.actuated.pod == raised


def test_a_grant_that_comes_while_a_step_is_taken_waits_for_its_end() -> None:
    """Then the newest size counts; only one completion is told."""
    node = running(pod(ONE))
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.think()
    assert [type(deed).__name__ for deed, _ in node.pending] == ["TakeStep", "ReportStatus"]
    node.grant(sized(container("c", "50m,64Mi", "50m,64Mi"), generation=3))
    node.live(1)
    assert work(node) == ["pod grows", "c", "pod shrinks", "Inspect"]
    assert [event.message.rpartition(",")[2] for event in node.events] == ['"generation":3}']


def test_a_cgroup_that_does_not_keep_what_was_written_is_an_error_not_a_loop() -> None:
    """The kernel answered with success and the file reads as before."""
    node = running(pod(ONE))
    before = node.cgroup

    def forget(deed: PodDeed) -> Failed | None:
        if isinstance(deed, Inspect):
            node.cgroup = before
        return None

    node.refuse = forget
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.live(2)
    assert reasons(node) == ["ResizeError"]
    assert ' of the pod does not keep what was written"' in node.events[0].message


def test_a_cgroup_that_somebody_changed_is_repaired_but_not_in_a_hurry() -> None:
    """Nothing is told, since nobody asked for a resize."""
    node = running(pod(ONE))
    assert node.cgroup is not None
    wanted, node.cgroup = node.cgroup, replace(node.cgroup, quota=50_000)
    node.learn(node.look())
    node.settle()
    assert (work(node), node.cgroup.quota) == ([], 50_000)
    node.live(16)
    assert (work(node), node.cgroup) == (["pod shrinks", "Inspect"], wanted)
    assert node.events == []


def test_a_view_from_before_a_step_does_not_undo_it() -> None:
    """It was asked for earlier and arrived later."""
    node = running(pod(ONE))
    old = node.look()
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.think()
    node.end()
    assert node.record.cgroup == node.cgroup != old.cgroup
    node.learn(old)
    assert node.record.cgroup == node.cgroup


def test_without_the_gate_nothing_is_resized() -> None:
    """Allocated and actuated are then not compared."""
    node = running(pod(ONE))
    node.setup = replace(SETUP, gates=Gates({**SETUP.gates.enabled, "InPlacePodVerticalScaling": False}))
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.settle()
    assert work(node) == []


def test_a_pod_that_is_being_stopped_is_not_resized() -> None:
    """Its size no longer matters, and its conditions vanish with it."""
    node = running(pod(ONE))
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.change(deleted(node.record.pod))
    node.live(1)
    assert not any(isinstance(deed, TakeStep) for deed in node.done)
    assert node.record.resize == ResizeConditions()


def test_steps_name_their_targets() -> None:
    """The container by its run, the pod's cgroup by its path, the runtime's sandbox by its id."""
    node = running(pod(ONE))
    node.grant(sized(container("c", "300m,64Mi", "300m,64Mi")))
    node.live(1)
    steps = [deed for deed in node.done if isinstance(deed, TakeStep)]
    assert {deed.path for deed in steps} == {"kubepods/poduid-1"}
    assert {deed.sandbox_id for deed in steps} == {"s0"}
    assert [deed.container_id for deed in steps] == [
        "" if isinstance(deed.step, WritePodCgroup) else "c#0" for deed in steps
    ]


def test_a_pod_does_not_shrink_around_a_container_that_is_being_made() -> None:
    """It is made with the size of the moment its start was decided, and can be changed only once it runs."""
    before, after = sized(container("c", "200m,64Mi", "200m,64Mi")), sized(ONE, generation=3)
    cgroup = podcgroup.written(PodCgroup(weight=100, quota=-1, memory_max=-1), pods.pod_cgroup(before))
    making = living(
        after,
        cgroup=cgroup,
        actuated=of_spec(before),
        resize=conditions.allocated(3, NOW),
        underway={"container/c": NOW},
    )
    assert [each for each in decide(making, SETUP, NOW).deeds if isinstance(each, TakeStep)] == []
    made = replace(making, shown=runtime(run(before.spec.containers[0])))
    assert [type(each) for each in decide(made, SETUP, NOW).deeds if isinstance(each, TakeStep)] == [TakeStep]
