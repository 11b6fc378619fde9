"""The steps of a resize, in their order.

The first table is what a kubelet's packages did in the same situations, in flexlet's order: the pod shrinks before
containers grow, and a container without a cpu request keeps its weight.
"""

import pytest
from msgspec.structs import replace
from tests.core.resize.resizing import calls, carried_out, facts, restarting, settle
from tests.pods import container, pod, resources

from flexlet.api.pod import Pod
from flexlet.core.cgroups.paths import SYSTEMD
from flexlet.core.gates import switch
from flexlet.core.resize.actuation import DONE, Plan, lowering, plan
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.podcgroup import Kernel
from flexlet.core.resize.safety import Lowering, MemoryUsage
from flexlet.core.resize.steps import StopContainer, UpdateContainer, WritePodCgroup

GIB = 1024**3
REST = (container("id2", "100m,100Mi", "200m,200Mi"), container("id3", "100m,100Mi", "200m,200Mi"))


def three(first: str, second: str = "200m,200Mi", third: str = "200m,200Mi") -> Pod:
    """Three containers with requests equal to limits."""
    sizes = zip(("id1", "id2", "id3"), (first, second, third), strict=True)
    return pod(*(container(name, size, size) for name, size in sizes))


def empty(level: tuple[str, str]) -> Pod:
    return pod(*map(container, ("id1", "id2", "id3")), level=level)


def asking(level: tuple[str, str] | None) -> Pod:
    return pod(*(container(name, "100m,100Mi") for name in ("id1", "id2", "id3")), level=level)


@pytest.mark.parametrize(
    ("before", "wanted", "expected"),
    [
        pytest.param(
            pod(container("id1", "100m,100Mi", "200m,200Mi"), *REST),
            pod(container("id1", "150m,150Mi", "300m,300Mi"), *REST),
            [
                "pod cpu.weight 14, cpu.max 70000 100000, memory.max 734003200",
                "id1 memory.max 314572800, cpu shares 153 quota 30000",
            ],
            id="one grows",
        ),
        pytest.param(
            three("200m,200Mi"),
            three("250m,250Mi", "100m,100Mi", "100m,100Mi"),
            [
                "id3 memory.max 104857600, cpu shares 102 quota 10000",
                "id2 memory.max 104857600, cpu shares 102 quota 10000",
                "pod cpu.weight 18, cpu.max 45000 100000, memory.max 471859200",
                "id1 memory.max 262144000, cpu shares 256 quota 25000",
            ],
            id="one grows, two shrink",
        ),
        pytest.param(
            empty(("600m,600Mi", "1,1Gi")),
            empty(("700m,700Mi", "2,2Gi")),
            [
                f"pod cpu.weight 28, cpu.max 200000 100000, memory.max {2 * GIB}",
                *(f"id{n} memory.max {2 * GIB}, cpu shares as they are quota 200000" for n in (1, 2, 3)),
                "record",
            ],
            id="the pod level grows over empty containers",
        ),
        pytest.param(
            asking(None),
            asking(("600m,600Mi", "1,1Gi")),
            [
                f"pod cpu.weight 24, cpu.max 100000 100000, memory.max {GIB}",
                *(f"id{n} memory.max {GIB}, cpu shares 102 quota 100000" for n in (1, 2, 3)),
                "record",
            ],
            id="a pod level is added",
        ),
        pytest.param(
            pod(container("id1", "100m,100Mi", "200m,200Mi"), *REST),
            pod(container("id1", "100m,150Mi", "200m,200Mi"), *REST),
            ["id1 memory.max 209715200"],
            id="a memory request",
        ),
        pytest.param(
            asking(None),
            pod(container("id1", "100m,100Mi", ",200Mi"), *asking(None).spec.containers[1:]),
            ["id1 memory.max 209715200"],
            id="a memory limit is added beside unlimited containers",
        ),
        pytest.param(
            empty(("600m,600Mi", "1,1Gi")),
            empty(("600m,700Mi", "1,1Gi")),
            ["record"],
            id="a pod-level memory request",
        ),
        pytest.param(three("200m,200Mi"), three("200m,200Mi"), [], id="nothing"),
        pytest.param(
            pod(container("a", "1,1Gi"), container("b", "1,1Gi")),
            pod(container("a", "2,1Gi"), container("b", "500m,1Gi")),
            ["pod cpu.weight 98", "b cpu shares 512 quota -1", "a cpu shares 2048 quota -1"],
            id="no limit is said aloud",
        ),
        pytest.param(
            pod(container("a", "1m", "5m")),
            pod(container("a", "2m", "9m")),
            ["a cpu shares 2 quota 1000"],
            id="the pod's cgroup rounds both to the same",
        ),
    ],
)
def test_order(before: Pod, wanted: Pod, expected: list[str]) -> None:
    known = facts(before, wanted)
    found = plan(known)
    assert calls(found) == expected
    assert plan(carried_out(known, found.steps)) == DONE


def test_who_restarts_is_stopped_in_a_plan_of_its_own() -> None:
    """c1 inherits the limit and must restart, c2 has its own, c3 inherits it and need not."""
    before = pod(container("c1"), container("c2", "1,1Gi", "1,1Gi"), container("c3"), level=("1,1Gi", "2,1Gi"))
    wanted = replace(before, spec=replace(before.spec, resources=resources("1,1Gi", "2,2Gi")))
    known = facts(restarting(before, "c1", "c2"), restarting(wanted, "c1", "c2"))
    assert plan(known) == Plan((StopContainer("c1"),))
    stopped = carried_out(known, plan(known).steps)
    assert calls(plan(stopped)) == [f"pod memory.max {2 * GIB}", f"c3 memory.max {2 * GIB}", "record"]


def test_one_resource_that_restarts_is_enough() -> None:
    before, wanted = pod(container("c", "100m,100Mi")), pod(container("c", "200m,200Mi"))
    known = facts(restarting(before, "c"), restarting(wanted, "c"))
    assert calls(plan(known)) == ["stop c"]
    cpu_only = pod(container("c", "200m,100Mi"))
    assert calls(plan(facts(restarting(before, "c"), restarting(cpu_only, "c")))) == [
        "pod cpu.weight 8",
        "c cpu shares 204 quota -1",
    ]


def test_a_missing_record_means_an_update_never_a_restart() -> None:
    """Nobody knows what the container has, so it is told everything."""
    wanted = restarting(pod(container("c", "100m,100Mi", "200m,200Mi")), "c")
    known = facts(wanted, wanted, actuated=Allocation({}))
    (step,) = plan(known).steps
    assert isinstance(step, UpdateContainer)
    assert (step.moved, step.resources.cpu_shares, step.resources.cpu_quota) == (("memory", "cpu"), 102, 20000)
    assert plan(carried_out(known, (step,))) == DONE


def test_a_record_without_inherited_limits_is_understood() -> None:
    """A kubelet that ran without the gate did not write them into the container's entry."""
    same = pod(container("c"), level=("1,1Gi", "2,2Gi"))
    actuated = Allocation({"c": resources()}, same.spec.resources)
    assert plan(facts(same, same, actuated=actuated)) == DONE


def test_switching_the_pod_level_on_only_records_what_is_there() -> None:
    same = pod(container("c"), level=("1,1Gi", "2,2Gi"))
    known = facts(same, same)
    unrecorded = replace(known, actuated=replace(known.actuated, pod=None))
    assert calls(plan(unrecorded)) == ["record"]
    assert settle(unrecorded) == known


def test_a_resize_is_done_when_nothing_is_left_and_nothing_blocks() -> None:
    assert [DONE.is_done, Plan((StopContainer("c"),)).is_done, Plan(blocked="busy").is_done] == [
        True,
        False,
        False,
    ]


def test_every_step_says_what_it_is_about() -> None:
    """Failures are remembered by these words, so they differ within a plan."""
    known = facts(asking(None), asking(("600m,600Mi", "1,1Gi")))
    assert [step.subject for step in plan(known).steps] == [
        "cpu.weight, cpu.max, memory.max of the pod",
        *(f"memory and cpu of id{n}" for n in (1, 2, 3)),
        "record of the pod level",
    ]


def test_without_the_gates_nothing_happens() -> None:
    before, wanted = three("200m,200Mi"), three("300m,200Mi")
    off = switch({"InPlacePodVerticalScaling": False})
    assert plan(facts(before, wanted, gates=off)) == DONE
    init = (
        pod(container("c", "1"), init=(container("i", "1"),)),
        pod(container("c", "1"), init=(container("i", "2"),)),
    )
    assert calls(plan(facts(*init))) == ["pod cpu.weight 79", "i cpu shares 2048 quota -1"]
    no_init = switch({"InPlacePodVerticalScalingInitContainers": False})
    assert calls(plan(facts(*init, gates=no_init))) == ["pod cpu.weight 79"]


def test_what_does_not_run_is_left_out_but_not_for_the_pod() -> None:
    known = facts(three("200m,200Mi"), three("300m,300Mi"), running=frozenset({"id2", "id3"}))
    assert calls(plan(known)) == ["pod cpu.weight 28, cpu.max 70000 100000, memory.max 734003200"]


def test_systemd_and_pages_round_without_end() -> None:
    """What reads back as the rounding of the wish is no difference."""
    kernel = Kernel(driver=SYSTEMD)
    known = facts(pod(container("c", "15m,100M", "15m,100M")), pod(container("c", "25m,50M", "25m,50M")), kernel)
    assert known.cgroup is not None
    assert (known.cgroup.quota, known.cgroup.memory_max) == (2000, 99999744)
    done = settle(known)
    assert done.cgroup is not None
    assert (done.cgroup.quota, done.cgroup.memory_max) == (3000, 49999872)


def test_exclusive_cpus_have_no_quota() -> None:
    """The memory of such a pod can be resized; its quota stays lifted."""
    before, wanted = pod(container("c", "1,1Gi", "1,1Gi")), pod(container("c", "1,2Gi", "1,2Gi"))
    known = facts(before, wanted, exclusive_cpus=frozenset({"c"}))
    lifted = replace(known, cgroup=replace(known.cgroup, quota=-1)) if known.cgroup else known
    assert calls(plan(lifted)) == [f"pod memory.max {2 * GIB}", f"c memory.max {2 * GIB}"]
    step = plan(lifted).steps[1]
    assert isinstance(step, UpdateContainer)
    assert step.resources.cpu_quota == -1


def test_the_runtime_is_told_of_the_pod_without_overhead() -> None:
    """Best effort, after the write: it rides on the step and cannot veto it (edge cases 41 and 49)."""
    before = pod(container("c", "1,1Gi", "1,1Gi"), overhead="250m,64Mi")
    wanted = pod(container("c", "2,1Gi", "2,1Gi"), overhead="250m,64Mi")
    step = plan(facts(before, wanted)).steps[0]
    assert isinstance(step, WritePodCgroup)
    assert (step.values.quota, step.sandbox.cpu_quota, step.sandbox.memory_limit) == (225000, 200000, GIB)


def test_an_update_names_no_huge_pages_and_keeps_the_rest() -> None:
    before = pod(container("c", "1,1Gi,hugepages-2Mi=4Mi", "1,1Gi,hugepages-2Mi=4Mi"))
    wanted = pod(container("c", "2,1Gi,hugepages-2Mi=4Mi", "2,1Gi,hugepages-2Mi=4Mi"))
    step = plan(facts(before, wanted)).steps[1]
    assert isinstance(step, UpdateContainer)
    assert step.resources.hugepage_limits == {}
    assert step.resources.unified == {"memory.oom.group": "1", "memory.swap.max": "0"}
    assert step.actuated == resources("2,1Gi,hugepages-2Mi=4Mi", "2,1Gi,hugepages-2Mi=4Mi")


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        # What failed together is tried one by one, before the pod shrinks.
        (
            {"memory and cpu of id3"},
            [
                "id3 memory.max 104857600",
                "id3 cpu shares 102 quota 10000",
                "id2 memory.max 104857600, cpu shares 102 quota 10000",
                "pod cpu.weight 18, cpu.max 45000 100000, memory.max 471859200",
            ],
        ),
        # A container that did not shrink keeps the pod from shrinking, but only in that resource.
        (
            {"memory and cpu of id3", "memory of id3"},
            [
                "id3 cpu shares 102 quota 10000",
                "id2 memory.max 104857600, cpu shares 102 quota 10000",
                "pod cpu.weight 18, cpu.max 45000 100000",
            ],
        ),
        (
            {"memory and cpu of id1"},
            [
                "id3 memory.max 104857600, cpu shares 102 quota 10000",
                "id2 memory.max 104857600, cpu shares 102 quota 10000",
                "pod cpu.weight 18, cpu.max 45000 100000, memory.max 471859200",
            ],
        ),
    ],
)
def test_after_a_failure_only_decreases_are_tried(failed: set[str], expected: list[str]) -> None:
    known = facts(three("200m,200Mi"), three("250m,250Mi", "100m,100Mi", "100m,100Mi"))
    assert calls(plan(known, frozenset(failed))) == expected


def test_a_step_after_a_failure_carries_what_was_really_given() -> None:
    known = facts(three("200m,200Mi"), three("200m,200Mi", third="100m,100Mi"))
    (step, *_) = plan(known, frozenset({"memory and cpu of id3", "memory of id3"})).steps
    assert isinstance(step, UpdateContainer)
    assert (step.subject, step.resources.memory_limit) == ("cpu of id3", 209715200)
    assert step.actuated == resources("100m,200Mi", "100m,200Mi")


def test_a_container_that_cannot_be_stopped_keeps_the_pod_large() -> None:
    before, wanted = three("200m,200Mi"), three("100m,100Mi", second="100m,100Mi")
    known = facts(restarting(before, "id1"), restarting(wanted, "id1"))
    assert calls(plan(known)) == ["stop id1"]
    assert calls(plan(known, frozenset({"restart of id1"}))) == [
        "id2 memory.max 104857600, cpu shares 102 quota 10000",
    ]


SMALLER = facts(three("200m,200Mi"), three("200m,200Mi", third="200m,100Mi"))


@pytest.mark.parametrize(
    ("usage", "why"),
    [
        (None, 'unable to read memory usage for pod "_()"'),
        (
            MemoryUsage(),
            'cannot decrease memory limits: [missing pod memory usage, missing container "id3" memory usage]',
        ),
        (
            MemoryUsage(524288000, {"id3": 104857599}),
            (
                "cannot decrease memory limits: attempting to set pod memory limit (524288000) below current "
                "usage (524288000)"
            ),
        ),
        (
            MemoryUsage(524287999, {"id3": 104857600}),
            (
                'cannot decrease memory limits: attempting to set container "id3" memory limit (104857600) below '
                "current usage (104857600)"
            ),
        ),
    ],
)
def test_a_memory_limit_does_not_go_below_what_is_in_use(usage: MemoryUsage | None, why: str) -> None:
    assert plan(replace(SMALLER, usage=usage)) == Plan(blocked=why)


def test_usage_is_needed_only_when_a_limit_goes_down_or_is_added() -> None:
    assert lowering(SMALLER) == Lowering(524288000, {"id3": 104857600})
    assert not lowering(facts(three("200m,200Mi"), three("100m,300Mi")))
    added = facts(asking(None), asking(("300m,300Mi", "1,1Gi")))
    assert lowering(added) == Lowering(GIB, {"id1": GIB, "id2": GIB, "id3": GIB})


def test_without_its_cgroup_a_pod_is_not_resized() -> None:
    unreadable = replace(SMALLER, cgroup=None)
    assert plan(unreadable) == Plan(blocked='unable to read the cgroup of pod "_()"')
    assert not lowering(unreadable)
    same = facts(three("200m,200Mi"), three("200m,200Mi"))
    assert plan(replace(same, cgroup=None)) == DONE
