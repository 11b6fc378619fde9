from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.properties.strategies import pods

from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.core.calc.checks import check
from flexlet.core.calc.origins import origins
from flexlet.core.cgroups import cpu
from flexlet.core.cgroups.oom import oom_scores
from flexlet.core.cgroups.pods import pod_cgroup
from flexlet.core.cgroups.values import CgroupValues
from flexlet.core.resources.defaults import default_pod
from flexlet.core.resources.qos import BURSTABLE

milli = st.integers(0, 400_000)


@given(milli, milli)
def test_cpu_conversions_are_monotone(left: int, right: int) -> None:
    """More CPU never means fewer shares, less weight or less quota, in either formula."""
    small, large = sorted((left, right))
    assert cpu.shares(small) <= cpu.shares(large)
    assert cpu.quota(small) <= cpu.quota(large)
    for weight in (cpu.linear_weight, cpu.runtime_weight):
        assert 1 <= weight(cpu.shares(small)) <= weight(cpu.shares(large)) <= 10_000


@given(milli)
def test_quota_reads_back(amount: int) -> None:
    """What is written as a quota reads back as the same limit, from ten thousandths on."""
    assert cpu.milli_of_quota(cpu.quota(amount)) == (max(amount, 10) if amount else 0)


@given(milli)
def test_systemd_rounds_up_by_less_than_a_percent(amount: int) -> None:
    quota = cpu.quota(amount)
    assert 0 <= cpu.systemd_quota(quota) - quota < 1000


def grown(pod: Pod, change: Callable[[ResourceRequirements], ResourceRequirements]) -> Pod:
    """The pod with every list of requests or limits changed."""

    def other(container: Container) -> Container:
        return replace(container, resources=change(container.resources))

    spec = pod.spec
    return replace(
        pod,
        spec=replace(
            spec,
            containers=tuple(map(other, spec.containers)),
            init_containers=tuple(map(other, spec.init_containers)),
            resources=None if spec.resources is None else change(spec.resources),
        ),
    )


def _more(amounts: ResourceList, by: int) -> ResourceList:
    return {name: amount + Quantity.of_milli(by) if amount else amount for name, amount in amounts.items()}


def _numbers(values: CgroupValues) -> tuple[int, int, int, int]:
    hugepages = sum(values.hugetlb.values())
    return values.shares or 0, values.weight or 0, values.quota or 0, hugepages


@given(pods(), st.integers(0, 10_000))
def test_pod_cgroups_grow_with_requests(pod: Pod, by: int) -> None:
    """Raising every request never lowers a value; limits are untouched."""
    larger = grown(pod, lambda r: replace(r, requests=_more(r.requests, by)))
    before, after = pod_cgroup(pod, qos=BURSTABLE), pod_cgroup(larger, qos=BURSTABLE)
    assert all(old <= new for old, new in zip(_numbers(before), _numbers(after), strict=True))
    assert (before.quota, before.memory_max) == (after.quota, after.memory_max)


@given(pods(), st.integers(0, 10_000))
def test_pod_cgroups_grow_with_limits(pod: Pod, by: int) -> None:
    """Raising every limit never lowers a limit, and never makes one appear or go away."""
    larger = grown(pod, lambda r: replace(r, limits=_more(r.limits, by)))
    before, after = pod_cgroup(pod, qos=BURSTABLE), pod_cgroup(larger, qos=BURSTABLE)
    assert before.shares == after.shares
    assert (before.quota is None, before.memory_max is None) == (after.quota is None, after.memory_max is None)
    assert (before.quota or 0) <= (after.quota or 0)
    assert (before.memory_max or 0) <= (after.memory_max or 0)


@given(pods(), st.integers(1, 64))
def test_oom_scores_stay_in_their_class(pod: Pod, gibibytes: int) -> None:
    """Burstable containers lie strictly between Guaranteed and BestEffort ones, where pods are valid."""
    case = default_pod(pod)
    scores = oom_scores(case, gibibytes * GIB, qos=BURSTABLE)
    assert scores.keys() == {c.name for c in (*pod.spec.containers, *pod.spec.init_containers)}
    assert all(3 <= score <= 1000 for score in scores.values())


@given(pods(), st.integers(1, 64))
def test_every_figure_has_a_reason(pod: Pod, gibibytes: int) -> None:
    """Whatever pod passes the checks can be explained."""
    check(pod)
    assert all(row.figure and row.value and row.reason for row in origins(pod, gibibytes * GIB))
