"""What the status reports of resources.

The values read are those recorded of a kubelet with runc 1.1; where it reported a rounding, flexlet says what was
asked.
"""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.resize.resizing import started, with_class
from tests.pods import container, pod, resources

from flexlet.api.pod import Container, Pod, PodStatus, ResourceRequirements
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.paths import SYSTEMD
from flexlet.core.gates import switch
from flexlet.core.resize import readback
from flexlet.core.resize.podcgroup import Kernel, PodCgroup, of_files

MIB = 1024**2


def runtime(shares: int = 0, quota: int = 0, memory: int = 0, period: int = 100_000) -> RuntimeResources:
    return RuntimeResources(
        cpu_shares=CpuShares(shares),
        cpu_quota=Microseconds(quota),
        cpu_period=Microseconds(period),
        memory_limit=Bytes(memory * MIB),
    )


PLAIN = resources("100m,32Mi", "200m,64Mi")
LEVEL = ("100m,64Mi", "200m,96Mi")


@pytest.mark.parametrize(
    ("spec", "level", "read", "actuated", "expected"),
    [
        # As it is and as it was asked.
        (PLAIN, None, runtime(102, 20000, 64), PLAIN, PLAIN),
        # In progress: the old size, in its own words.
        (resources("300m,48Mi", "400m,96Mi"), None, runtime(102, 20000, 64), PLAIN, PLAIN),
        (resources("300m", "400m"), None, runtime(15, 2000), resources("15m", "15m"), resources("15m", "15m")),
        # Neither allocated nor recorded explains it: as read.
        (resources("300m", "400m"), None, runtime(100, 12345), resources("1", "1"), resources("98m", "123m")),
        # Below what the kernel knows.
        (resources("1m", "5m"), None, runtime(2, 1000), resources("2m", "10m"), resources("1m", "5m")),
        # The systemd driver rounds up to whole percents.
        (resources("15m", "15m"), None, runtime(15, 2000), resources("15m", "15m"), resources("15m", "15m")),
        # A request that was just added reads back as the least.
        (resources("20m"), None, runtime(2), resources(), resources("2m")),
        # A limit that was just added is shown although it is not there yet, as the kubelet does.
        (
            resources("200m,48Mi", "400m,64Mi"),
            None,
            runtime(204),
            resources("200m,48Mi"),
            resources("200m,48Mi", "400m,64Mi"),
        ),
        # Inherited limits show up in a list the container has, and nowhere else.
        (
            resources("60m", "120m"),
            (",64Mi", ",96Mi"),
            runtime(61, 12000, 96),
            resources("60m", "120m,96Mi"),
            resources("60m", "120m,96Mi"),
        ),
        (resources(), LEVEL, runtime(204, 20000, 96), resources("", "200m,96Mi"), resources()),
        (
            resources("10m,16Mi"),
            LEVEL,
            runtime(10, 20000, 96),
            resources("10m,16Mi", "200m,96Mi"),
            resources("10m,16Mi"),
        ),
        # The runtime says nothing: what was recorded.
        (resources("300m,48Mi", "400m,96Mi"), None, None, PLAIN, PLAIN),
        # What no resize changes is shown as allocated.
        (
            resources("1,1Mi,example.com/gpu=1"),
            None,
            runtime(1024),
            resources("1,1Mi"),
            resources("1,1Mi,example.com/gpu=1"),
        ),
    ],
)
def test_containers(
    spec: ResourceRequirements,
    level: tuple[str, str] | None,
    read: RuntimeResources | None,
    actuated: ResourceRequirements,
    expected: ResourceRequirements,
) -> None:
    allocated = pod(Container(name="c", resources=spec), level=level)
    found = readback.container_resources(allocated, allocated.spec.containers[0], read, actuated)
    assert found == expected


def test_a_silent_runtime_leaves_what_was_reported() -> None:
    allocated = pod(container("c", "300m,48Mi", "400m,96Mi"))
    found = readback.container_resources(allocated, allocated.spec.containers[0], runtime(), None, PLAIN)
    assert found == PLAIN
    first = readback.container_resources(allocated, allocated.spec.containers[0], None, None)
    assert first == allocated.spec.containers[0].resources


def cgroup(weight: int, quota: str = "max", memory: str = "max") -> PodCgroup:
    return of_files({"cpu.weight": f"{weight}\n", "cpu.max": f"{quota} 100000\n", "memory.max": f"{memory}\n"})


GUARANTEED = pod(container("c", "100m,64Mi", "100m,64Mi"))
PARTLY = pod(container("a", "50m,16Mi", "100m,32Mi"), container("b", "20m,16Mi"))


@pytest.mark.parametrize(
    ("before", "allocated", "read", "expected"),
    [
        # A weight is coarse: 4 stands for 100m, which upstream reports as 79m.
        (GUARANTEED, GUARANTEED, cgroup(4, "10000", "67108864"), resources("100m,64Mi", "100m,64Mi")),
        # The least is not lost either.
        (
            GUARANTEED,
            pod(container("c", "1m,64Mi", "1m,64Mi")),
            cgroup(1, "1000", "67108864"),
            resources("1m,64Mi", "1m,64Mi"),
        ),
        # In progress: the old cpu, and the new memory request, which is no value of the kernel.
        (
            GUARANTEED,
            pod(container("c", "300m,128Mi", "300m,128Mi")),
            cgroup(4, "10000", "67108864"),
            resources("100m,128Mi", "100m,64Mi"),
        ),
        # Halfway: memory done, cpu not yet.
        (
            GUARANTEED,
            pod(container("c", "300m,128Mi", "300m,128Mi")),
            cgroup(4, "10000", "134217728"),
            resources("100m,128Mi", "100m,128Mi"),
        ),
        # Nobody's value: as read.
        (GUARANTEED, GUARANTEED, cgroup(8, "33300", "47185920"), resources("181m,64Mi", "333m,45Mi")),
        # Whole pages.
        (
            pod(container("c", "1,100M", "1,100M")),
            pod(container("c", "1,100M", "1,100M")),
            cgroup(39, "100000", "99999744"),
            resources("1,100M", "1,100M"),
        ),
        # A partly limited pod shows the sum of the limits that exist, and follows them.
        (PARTLY, PARTLY, cgroup(3), resources("70m,32Mi", "100m,32Mi")),
        (
            PARTLY,
            pod(container("a", "50m,16Mi", "200m,64Mi"), container("b", "20m,16Mi")),
            cgroup(3),
            resources("70m,32Mi", "200m,64Mi"),
        ),
        # A pod level that is being added is not shown before it is there.
        (PARTLY, pod(*PARTLY.spec.containers, level=LEVEL), cgroup(3), resources("70m,64Mi", "100m,32Mi")),
        (pod(container("a")), pod(container("a")), cgroup(1), resources()),
        (
            pod(container("a", "1,1Gi", "1,1Gi"), overhead="250m,64Mi"),
            pod(container("a", "1,1Gi", "1,1Gi"), overhead="250m,64Mi"),
            cgroup(49, "125000", "1140850688"),
            resources("1250m,1088Mi", "1250m,1088Mi"),
        ),
    ],
)
def test_pods(before: Pod, allocated: Pod, read: PodCgroup, expected: ResourceRequirements) -> None:
    assert readback.pod_resources(with_class(allocated, before), started(before), read) == expected


def test_until_it_runs_a_pod_has_what_is_allocated() -> None:
    waiting = replace(PARTLY, status=PodStatus(phase="Pending"))
    assert readback.pod_resources(waiting, None, cgroup(1)) == resources("70m,32Mi", "100m,32Mi")


def test_what_cannot_be_read_stays_as_reported() -> None:
    running = with_class(GUARANTEED)
    assert readback.pod_resources(running, None, None, PLAIN) == PLAIN
    assert readback.pod_resources(running, None, None) == resources("100m,64Mi", "100m,64Mi")
    lost = readback.pod_resources(running, None, cgroup(4), PLAIN)
    assert lost == resources("100m,64Mi", "200m,64Mi")


def test_systemd_rounds_the_pod_too() -> None:
    running = with_class(pod(container("c", "15m,64Mi", "15m,64Mi")))
    found = readback.pod_resources(running, None, cgroup(1, "2000", "67108864"), kernel=Kernel(driver=SYSTEMD))
    assert found == resources("15m,64Mi", "15m,64Mi")


@pytest.mark.parametrize(
    ("spec", "running", "expected"),
    [
        (resources(), resources(), {"resources": {}}),
        (resources(), None, {"resources": {}}),
        (
            resources("100m"),
            resources("200m"),
            {"resources": {"requests": {"cpu": "200m"}}, "allocatedResources": {"cpu": "100m"}},
        ),
        (
            resources("100m", "200m,1Gi"),
            None,
            {
                "resources": {"limits": {"cpu": "200m", "memory": "1Gi"}, "requests": {"cpu": "100m"}},
                "allocatedResources": {"cpu": "100m"},
            },
        ),
    ],
)
def test_empty_lists_are_left_out_and_resources_never(
    spec: ResourceRequirements, running: ResourceRequirements | None, expected: dict[str, Any]
) -> None:
    assert readback.container_fields(Container(name="c", resources=spec), running) == expected


def test_fields_of_a_pod() -> None:
    assert readback.pod_fields(GUARANTEED, resources("100m,64Mi")) == {
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        "allocatedResources": {"cpu": "100m", "memory": "64Mi"},
    }
    assert readback.pod_fields(pod(container("c")), resources()) == {"resources": {}}
    off = switch({"InPlacePodLevelResourcesVerticalScaling": False})
    assert readback.pod_fields(GUARANTEED, resources("100m,64Mi"), off) == {}
