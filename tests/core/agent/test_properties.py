"""What must hold whatever the pod, whatever order things end in, and wherever the agent dies."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID, container, deleted, living, pod, run, runtime, sidecar
from tests.core.agent.model import Node, Run

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.handlers import ExecAction, Handler, Lifecycle
from flexlet.api.pod import ResizePolicy
from flexlet.core.agent import deeds
from flexlet.core.agent.fold import folded
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.observations import Done, Finished, PodObservation, PodSeen, PullBegan, Shown
from flexlet.core.cgroups import pods
from flexlet.core.resize import podcgroup, targets
from flexlet.core.resize.allocation import applied
from flexlet.core.resize.podcgroup import PodCgroup
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.runtime.shown import EXITED

HOOK = Lifecycle(pre_stop=Handler(exec=ExecAction(command=("drain",))))
SIZES = ("", "50m,32Mi", "100m,64Mi", "300m,256Mi")
RUNS = (Run(), Run(3, 0), Run(3, 1), Run(30, 1, 143))


@st.composite
def pods_and_scripts(draw: st.DrawFn) -> tuple[NodePod, dict[str, list[Run]]]:
    """A pod of a few containers of every kind, and how they behave."""
    sizes, runs = st.sampled_from(SIZES), st.sampled_from(RUNS)
    hooks = st.sampled_from((None, HOOK))
    regular = [
        container(name, limits=draw(sizes), lifecycle=draw(hooks)) for name in "ab"[: draw(st.integers(1, 2))]
    ]
    init = [
        sidecar(name, limits=draw(sizes), lifecycle=draw(hooks)) if draw(st.booleans()) else container(name)
        for name in "xyz"[: draw(st.integers(0, 3))]
    ]
    policy = draw(st.sampled_from(("Always", "OnFailure", "Never")))
    script = {each.name: [draw(runs), draw(runs)] for each in regular}
    script |= {
        each.name: [Run(1, draw(st.sampled_from((0, 0, 1)))), Run(1, 0)] for each in init if not each.is_sidecar
    }
    return pod(*regular, init=tuple(init), restart_policy=policy), script


choices = st.randoms(use_true_random=False).map(lambda random: random.randrange)
Choose = Callable[[int], int]


def left(node: Node) -> dict[str, Any]:
    """What there is on the node, apart from ids and times."""
    return {
        "running": sorted(node.running()),
        "dead": sorted((c.name, c.exit_code) for c in node.containers if c.state == EXITED),
        "cgroup": node.cgroup,
        "volumes": node.volumes,
        "phase": node.reports[-1]["phase"] if node.reports else None,
        "told": sorted({(event.reason, event.message) for event in node.events}),
    }


@settings(max_examples=25, deadline=None)
@given(pods_and_scripts(), choices)
def test_the_order_in_which_deeds_end_does_not_matter(case: tuple[NodePod, Any], choose: Choose) -> None:
    """The pod ends up in the same state, and everybody has been told the same."""
    straight, shuffled = Node(*case), Node(*case)
    straight.live(60)
    shuffled.live(60, choose)
    assert left(shuffled) == left(straight)
    assert shuffled.record.underway == {}


@settings(max_examples=25, deadline=None)
@given(pods_and_scripts(), st.integers(0, 30), choices)
def test_a_deleted_pod_leaves_nothing(case: tuple[NodePod, Any], seconds: int, choose: Choose) -> None:
    """Whenever it is deleted and however it was: no container, sandbox, cgroup, volume or allocation is left."""
    node = Node(*case)
    node.live(seconds, choose)
    assert node.api is not None
    node.change(deleted(node.api, 5))
    node.live(60, choose)
    assert node.remains() == []
    assert node.kinds()[-1] == "ForgetPod"
    assert node.record.cleaned is True
    assert node.reports[-1]["phase"] in {"Succeeded", "Failed"}


@settings(max_examples=25, deadline=None)
@given(pods_and_scripts(), st.integers(0, 25), st.booleans())
def test_an_agent_that_dies_between_two_deeds_recovers(
    case: tuple[NodePod, Any], survived: int, leaving: bool
) -> None:
    """What is under way is lost, what the node has is found again; running containers are not touched."""
    node = Node(*case)
    for _ in range(survived):
        node.think()
        if not node.pending:
            break
        node.end()
    if leaving and node.api is not None:
        node.change(deleted(node.api, 5))
    before = set(node.running())
    node.crash()
    node.live(0)
    assert leaving or before <= set(node.running())
    node.live(60)
    assert node.record.underway == {}
    assert not leaving or node.remains() == []


def resized(of: NodePod, limits: dict[str, str], *, restarting: bool) -> NodePod:
    policy = (ResizePolicy(resource_name="memory", restart_policy="RestartContainer"),) if restarting else ()
    changed = tuple(
        container(each.name, limits=limits[each.name], resize_policy=policy) for each in of.spec.containers
    )
    meta = replace(of.metadata, generation=of.metadata.generation + 1)
    return replace(of, metadata=meta, spec=replace(of.spec, containers=changed))


AMOUNTS = st.sampled_from(SIZES[1:])


@settings(max_examples=25, deadline=None)
@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, st.booleans(), st.integers(0, 12), choices)
def test_a_resize_reaches_its_end_from_wherever_the_agent_dies(
    a: str, b: str, c: str, d: str, restarting: bool, survived: int, choose: Choose
) -> None:
    """Allocated, actuated and the cgroup agree in the end; nothing is actuated that was not allocated."""
    of = resized(pod(container("a"), container("b")), {"a": a, "b": b}, restarting=restarting)
    node = Node(of)
    node.in_use = MemoryUsage(1, {"a": 1, "b": 1})
    node.live(5)
    wanted = resized(of, {"a": c, "b": d}, restarting=restarting)
    node.grant(wanted)
    for _ in range(survived):
        node.think()
        if not node.pending:
            break
        node.end(choose(len(node.pending)))
    node.crash()
    node.live(30, choose)
    assert node.allocated is not None
    granted = applied(wanted, node.allocated)
    assert node.actuated.containers == {
        each.name: targets.target(granted, each) for each in granted.spec.containers
    }
    fresh = PodCgroup(weight=100, quota=-1, memory_max=-1)
    assert node.cgroup == podcgroup.written(fresh, pods.pod_cgroup(granted))
    assert sorted(node.running()) == ["a", "b"]
    assert node.record.resize.in_progress is None


A = container("a")
POD = pod(A)
NEWER = replace(POD, metadata=replace(POD.metadata, resource_version="2"))
RUNTIME: list[PodObservation] = [
    Shown(pod=runtime(run(A)), has_cgroup=True, order=1),
    Shown(pod=runtime(run(A, 1), run(A, state=EXITED)), has_cgroup=True, order=2),
]
API: list[PodObservation] = [PodSeen(NEWER), PodSeen(deleted(POD))]
HANDS: list[PodObservation] = [
    PullBegan(uid=UID, container="a", image="busybox:1"),
    Finished(deed=deeds.MountVolumes(uid=UID), outcome=Done(), began_at=NOW, ended_at=NOW),
    Finished(deed=deeds.FinishDelete(uid=UID), outcome=Done(), began_at=NOW, ended_at=NOW),
]


@settings(max_examples=25, deadline=None)
@given(st.permutations([0, 0, 1, 1, 2, 2, 2]))
def test_the_order_in_which_sources_speak_does_not_matter(turns: list[int]) -> None:
    """Each of them keeps its own order; the record is the same in the end, and so is what is decided from it.

    Labels are left out: volumes that were mounted before they changed are due again.
    """
    lines = [iter(RUNTIME), iter(API), iter(HANDS)]
    record = expected = living(POD, volumes=False, reported={})
    for turn in turns:
        record = folded(record, next(lines[turn]), SETUP, NOW).record
    for observation in (*RUNTIME, *API, *HANDS):
        expected = folded(expected, observation, SETUP, NOW).record
    assert record == expected
    assert decide(record, SETUP, NOW) == decide(expected, SETUP, NOW)
