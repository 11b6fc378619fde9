import pytest
from msgspec.structs import replace
from tests.pods import amounts, container, pod, reported, resources

from flexlet.api.pod import Pod, PodStatus
from flexlet.core.calc.checks import check
from flexlet.errors import InputError

A = container("a", "1,1Gi", "1,1Gi")
SOUND = pod(A, init=(A,), level=("1", "2"), overhead="1")


@pytest.mark.parametrize(
    ("case", "path", "message"),
    [
        (pod(), "$.spec.containers", "a pod needs at least one container"),
        (pod(A, container("b", "-1")), "$.spec.containers[1].resources.requests.cpu", "-1 is negative"),
        (pod(container("b", "", ",-1Gi")), "$.spec.containers[0].resources.limits.memory", "-1Gi is negative"),
        (
            pod(container("b", "2", "1500m")),
            "$.spec.containers[0].resources.requests.cpu",
            "request 2 is above limit 1500m",
        ),
        (
            pod(A, init=(container("i", ",2Gi", ",1Gi"),)),
            "$.spec.initContainers[0].resources.requests.memory",
            "request 2Gi is above limit 1Gi",
        ),
        (pod(A, level=("2", "1")), "$.spec.resources.requests.cpu", "request 2 is above limit 1"),
        (pod(A, overhead="-250m"), "$.spec.overhead.cpu", "-250m is negative"),
        (
            replace(SOUND, status=PodStatus(container_statuses=(reported("a", "-1", None),))),
            "$.status.containerStatuses[0].allocatedResources.cpu",
            "-1 is negative",
        ),
        (
            replace(SOUND, status=PodStatus(init_container_statuses=(reported("i", "", "-1"),))),
            "$.status.initContainerStatuses[0].resources.requests.cpu",
            "-1 is negative",
        ),
        (
            replace(SOUND, status=PodStatus(resources=resources("", "-1"))),
            "$.status.resources.limits.cpu",
            "-1 is negative",
        ),
        (
            replace(SOUND, status=PodStatus(allocated_resources=amounts("-1"))),
            "$.status.allocatedResources.cpu",
            "-1 is negative",
        ),
    ],
)
def test_nonsense(case: Pod, path: str, message: str) -> None:
    """The first thing that makes figures meaningless is named with its path."""
    with pytest.raises(InputError) as caught:
        check(case)
    assert (caught.value.path, caught.value.message) == (path, message)


def test_sound_pods_pass() -> None:
    """A status may report a request above its limit: that is a resize half way."""
    halfway = PodStatus(container_statuses=(reported("a", "1", "2", "1"),), resources=resources("2", "1"))
    check(SOUND)
    check(replace(SOUND, status=halfway))
