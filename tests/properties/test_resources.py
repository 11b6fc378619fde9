from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.properties.strategies import pods, requirements

from flexlet.api import decode
from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.resources import effective, statusaware
from flexlet.core.resources.defaults import default_pod, default_pod_dict
from flexlet.core.resources.names import COMPUTE
from flexlet.core.resources.qos import qos_class


def covers(larger: ResourceList, smaller: ResourceList) -> bool:
    return all(larger.get(name, ZERO) >= amount for name, amount in smaller.items())


@given(pods(pod_level=False))
def test_requests_cover_every_container(pod: Pod) -> None:
    """Without pod level no container asks for more than its pod."""
    total = effective.pod_requests(pod)
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        assert covers(total, container.resources.requests)


@given(pods())
def test_pod_level_wins(pod: Pod) -> None:
    """A pod-level request is the pod's request, overhead aside."""
    if pod.spec.resources is not None:
        total = effective.pod_requests(pod, overhead=False)
        assert pod.spec.resources.requests.items() <= total.items()


@given(pods())
def test_order_of_regular_containers_is_free(pod: Pod) -> None:
    turned = replace(pod, spec=replace(pod.spec, containers=pod.spec.containers[::-1]))
    assert effective.pod_requests(turned) == effective.pod_requests(pod)
    assert effective.pod_limits(turned) == effective.pod_limits(pod)
    assert qos_class(turned) == qos_class(pod)


@given(pods())
def test_without_a_status_all_views_agree(pod: Pod) -> None:
    """Until a node reports anything, the scheduler and quota count the spec."""
    spec = effective.pod_requests(pod)
    assert statusaware.scheduler_requests(pod) == spec == statusaware.quota_requests(pod)
    assert statusaware.scheduler_limits(pod) == effective.pod_limits(pod) == statusaware.quota_limits(pod)


@given(pods())
def test_defaulting_twice_changes_nothing(pod: Pod) -> None:
    once = default_pod(pod)
    assert default_pod(once) == once


@given(pods())
def test_defaulting_adds_and_never_lowers(pod: Pod) -> None:
    """Requests and limits that were written stay, rounded up; every limit ends up with a request."""
    for before, after in zip(pod.spec.containers, default_pod(pod).spec.containers, strict=True):
        assert covers(after.resources.requests, before.resources.requests)
        assert after.resources.limits.keys() == before.resources.limits.keys()
        assert after.resources.requests.keys() == before.resources.requests.keys() | before.resources.limits.keys()


@given(pods())
def test_both_faces_of_defaulting_agree(pod: Pod) -> None:
    body = decode.to_value(pod)
    default_pod_dict(body)
    assert decode.from_value(body, Pod) == default_pod(pod)


def resized(resources: ResourceRequirements, factor: int) -> ResourceRequirements:
    """Other sizes, same shape: what was equal stays equal, what was absent or zero stays so."""
    return ResourceRequirements(
        requests={name: _times(amount, factor) for name, amount in resources.requests.items()},
        limits={name: _times(amount, factor) for name, amount in resources.limits.items()},
    )


def _times(amount: Quantity, factor: int) -> Quantity:
    return Quantity(amount.nano * factor, amount.family)


@given(pods(), st.integers(1, 100))
def test_a_resize_that_keeps_its_shape_keeps_the_class(pod: Pod, factor: int) -> None:
    def other(container: Container) -> Container:
        return replace(container, resources=resized(container.resources, factor))

    spec = replace(
        pod.spec,
        containers=tuple(map(other, pod.spec.containers)),
        init_containers=tuple(map(other, pod.spec.init_containers)),
        resources=None if pod.spec.resources is None else resized(pod.spec.resources, factor),
    )
    assert qos_class(replace(pod, spec=spec)) == qos_class(pod)


@given(pods(pod_level=False), requirements(COMPUTE))
def test_guaranteed_pods_have_equal_sides(pod: Pod, resources: ResourceRequirements) -> None:
    """Whatever is called Guaranteed requests exactly its limits, of both cpu and memory."""
    for case in (default_pod(pod), default_pod(replace(pod, spec=replace(pod.spec, resources=resources)))):
        if qos_class(case) == "Guaranteed":
            requests = effective.pod_requests(case, overhead=False)
            limits = effective.pod_limits(case, overhead=False)
            assert [requests[name] for name in COMPUTE] == [limits[name] for name in COMPUTE]
