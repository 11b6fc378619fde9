"""What must hold for every resize of every pod."""

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.resize.resizing import carried_out, facts, restarting, settle, start

from flexlet.api.pod import Container, Pod, PodSpec, ResourceList, ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.core.resize.actuation import DONE, Facts, plan
from flexlet.core.resize.steps import Step, UpdateContainer, WritePodCgroup

MIB = 1024**2


def lists(*, full: bool = False) -> st.SearchStrategy[ResourceList]:
    """Amounts of cpu and memory, small numbers so that coincidences happen; `full` names both."""
    amounts = {
        "cpu": st.integers(1, 20).map(lambda tenths: Quantity.of_milli(tenths * 100)),
        "memory": st.integers(1, 20).map(lambda count: Quantity.of_bytes(count * 16 * MIB)),
    }
    return st.fixed_dictionaries(amounts) if full else st.fixed_dictionaries({}, optional=amounts)


@st.composite
def sizes(draw: st.DrawFn, before: ResourceRequirements | None = None, *, full: bool = False) -> Any:
    """Requests and limits; as the API has it, none of `before` disappears."""
    old = before or ResourceRequirements()
    return ResourceRequirements(requests=old.requests | draw(lists()), limits=old.limits | draw(lists(full=full)))


@st.composite
def resizes(draw: st.DrawFn, *, limited: bool = False) -> Facts:
    """A pod of one to three containers, perhaps with a pod level, some of them restarting, and its next size."""
    before = [draw(sizes(full=limited)) for _ in range(draw(st.integers(1, 3)))]
    level = None if limited else draw(st.none() | sizes())
    wanted = [draw(sizes(old, full=limited)) for old in before]
    later = draw(sizes(level)) if level or (not limited and draw(st.booleans())) else None
    restarts = [] if limited else [f"c{i}" for i in range(len(before)) if draw(st.integers(0, 4)) == 0]
    old, new = (restarting(_pod(*each), *restarts) for each in ((before, level), (wanted, later)))
    return facts(old, new)


def _pod(containers: list[ResourceRequirements], level: ResourceRequirements | None) -> Pod:
    named = tuple(Container(name=f"c{i}", resources=resources) for i, resources in enumerate(containers))
    return Pod(spec=PodSpec(containers=named, resources=level))


def same_end(one: Facts, other: Facts) -> bool:
    """Equal in what the kernel has and in the integers recorded; texts of quantities may differ."""
    return (one.cgroup, one.running, one.actuated) == (other.cgroup, other.running, other.actuated)


@settings(max_examples=60, deadline=None)
@given(resizes())
def test_a_crash_between_any_two_steps_ends_the_same(known: Facts) -> None:
    """Killed after each step in turn, also before the step was recorded, the next plans lead to one end."""
    end = settle(known)
    assert plan(end) == DONE
    steps = plan(known).steps
    for done in range(len(steps)):
        assert same_end(settle(carried_out(known, steps[:done])), end)
        unrecorded = replace(
            carried_out(known, steps[: done + 1]), actuated=carried_out(known, steps[:done]).actuated
        )
        assert same_end(settle(unrecorded), end)


@settings(max_examples=60, deadline=None)
@given(resizes())
def test_an_agent_that_dies_after_every_step_gets_there_too(known: Facts) -> None:
    end = settle(known)
    for _ in range(40):
        steps = plan(known).steps
        if not steps:
            break
        known = carried_out(known, steps[:1])
    assert same_end(settle(start(known)), end)


@settings(max_examples=60, deadline=None)
@given(resizes())
def test_parents_before_children_on_growth_children_first_on_shrink(known: Facts) -> None:
    """The pod grows, containers shrink, the pod shrinks, containers grow."""
    steps = [step for step in plan(known).steps if isinstance(step, WritePodCgroup | UpdateContainer)]
    places = [_stage(step) for step in steps]
    assert places == sorted(places)


def _stage(step: WritePodCgroup | UpdateContainer) -> int:
    if isinstance(step, WritePodCgroup):
        return 2 if step.shrinks else 0
    return 1 if step.shrinks else 3


@settings(max_examples=60, deadline=None)
@given(resizes(), st.data())
def test_after_a_failure_every_step_is_a_decrease(known: Facts, data: st.DataObject) -> None:
    """And whatever was tried in vain, the end is the same once it works."""
    end = settle(known)
    steps: list[Step] = list(plan(known).steps)
    assume(steps)
    position = data.draw(st.integers(0, len(steps) - 1))
    reached = carried_out(known, steps[:position])
    left = plan(reached, frozenset({steps[position].subject})).steps
    if isinstance(steps[0], WritePodCgroup | UpdateContainer):
        assert all(isinstance(step, WritePodCgroup | UpdateContainer) and step.shrinks for step in left)
    assert steps[position].subject not in {step.subject for step in left}
    assert same_end(settle(carried_out(reached, left)), end)


@settings(max_examples=60, deadline=None)
@given(resizes(limited=True))
def test_the_containers_limits_never_exceed_the_pods(known: Facts) -> None:
    """Where all are limited and the pod has the sum, that holds after every step."""
    assert _fits(known)
    for step in plan(known).steps:
        known = carried_out(known, [step])
        assert _fits(known)


def _fits(known: Facts) -> bool:
    limits = [entry.limits for entry in known.actuated.containers.values()]
    assert known.cgroup is not None
    return (
        sum(each["memory"].value for each in limits) <= known.cgroup.memory_max
        and sum(each["cpu"].milli * 100 for each in limits) <= known.cgroup.quota
    )
