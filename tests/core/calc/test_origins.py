import pytest
from tests.pods import container, pod, reported, resize_pending

from flexlet.api.pod import Pod, PodStatus
from flexlet.api.units import GIB
from flexlet.core.calc.origins import Origin, origins

NODE = 16 * GIB
SIDECAR = container("s", "500m,256Mi", sidecar=True)


def test_all_rows_of_a_pod() -> None:
    """One row per figure, in the order a person asks for them."""
    case = pod(container("a", "100m,128Mi"), container("b", "", "1,256Mi"), overhead=",64Mi")
    assert origins(case, NODE) == [
        Origin("QoS class", "Burstable", "in container a cpu has no limit"),
        Origin("requests added to b", "cpu 1, memory 256Mi", "its limits"),
        Origin("cpu request", "1100m", "sum of containers; pod level not set"),
        Origin("memory request", "469762048", "sum of containers; pod level not set; plus overhead 64Mi"),
        Origin("cpu limit", "1000m", "sum of containers; pod level not set"),
        Origin("memory limit", "335544320", "sum of containers; pod level not set; plus overhead 64Mi"),
        Origin("cpu.weight", "108", "shares 1126; the kubelet's own linear formula gives 43"),
        Origin("cpu.max", "max 100000", "left alone: no cpu limit in a"),
        Origin("memory.max", "max", "left alone: no memory limit in a"),
        Origin("oom_score_adj of a", "993", "requests 134217728 of 17179869184 bytes"),
        Origin("oom_score_adj of b", "985", "requests 268435456 of 17179869184 bytes"),
    ]


def test_pod_level_rows() -> None:
    case = pod(
        container("a", ",1Gi", "hugepages-2Mi=4Mi"),
        init=(SIDECAR,),
        level=("", "1,4Gi"),
        status=PodStatus(container_statuses=(reported("a", "hugepages-2Mi=8Mi", ""),)),
    )
    assert origins(case, NODE) == [
        Origin(
            "QoS class", "Burstable", "at pod level cpu request 500m is not its limit 1; containers do not count"
        ),
        Origin("requests added to a", "hugepages-2Mi 4Mi", "its limits"),
        Origin("pod-level limits added", "hugepages-2Mi 4Mi", "huge page limits of containers"),
        Origin(
            "pod-level requests added",
            "cpu 500m, hugepages-2Mi 4Mi, memory 1280Mi",
            "containers, else pod-level limits",
        ),
        Origin("cpu request", "500m", "pod level; containers sum up to 500m"),
        Origin("hugepages-2Mi request", "4194304", "pod level; containers sum up to 4Mi"),
        Origin("memory request", "1342177280", "pod level; containers sum up to 1280Mi"),
        Origin("cpu limit", "1000m", "pod level"),
        Origin("memory limit", "4294967296", "pod level"),
        Origin("hugepages-2Mi limit", "4194304", "pod level; containers sum up to 4Mi"),
        Origin("cpu.weight", "59", "shares 512; the kubelet's own linear formula gives 20"),
        Origin("cpu.max", "100000 100000", "the pod's cpu limit"),
        Origin("memory.max", "4294967296", "the pod's memory limit"),
        Origin("hugetlb.2MB.max", "4194304", "huge page request"),
        Origin("oom_score_adj of a", "938", "requests 1073741824 of 17179869184 bytes"),
        Origin(
            "oom_score_adj of s",
            "938",
            "requests 268435456 of 17179869184 bytes; at most that of the containers it serves",
        ),
    ]


def reason(case: Pod, figure: str) -> str:
    return {row.figure: row.reason for row in origins(case, NODE)}[figure]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (pod(container("a")), "no container names cpu or memory"),
        (pod(container("a", "", "1,1Gi")), "requests equal limits for cpu and memory in every container"),
        (pod(container("a", "1,1Gi", "2,1Gi")), "in container a cpu request 1 is not its limit 2"),
        (
            pod(container("a", "1,1Gi"), level=("", "")),
            "spec.resources is there but names neither cpu nor memory; containers do not count then",
        ),
        (pod(container("a"), level=("", "1,1Gi")), "requests equal limits for cpu and memory at pod level"),
        (pod(container("a"), level=("1", "")), "at pod level cpu has no limit; containers do not count"),
    ],
)
def test_qos_reasons(case: Pod, words: str) -> None:
    assert reason(case, "QoS class") == words


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (pod(container("a", "1")), "the only container; pod level not set"),
        (pod(container("a", "1"), init=(SIDECAR,)), "sum of containers and sidecars; pod level not set"),
        (pod(container("a", "1"), init=(container("i", "2"),)), "init container i; pod level not set"),
        (
            pod(container("a", "1"), init=(SIDECAR, container("i", "2"))),
            "init container i beside sidecars s; pod level not set",
        ),
        (pod(container("a", "1"), level=(",1Gi", "")), "the only container; not named at pod level"),
        (pod(container("a"), level=("1", "")), "pod level"),
        (pod(container("a"), overhead="1"), "no container names it; pod level not set; plus overhead 1"),
    ],
)
def test_request_reasons(case: Pod, words: str) -> None:
    """The words name the moment of the pod's life that decides."""
    assert reason(case, "cpu request") == words


def test_limit_reasons() -> None:
    unlimited = pod(container("a", "1"), overhead="250m")
    assert reason(unlimited, "cpu limit") == "no container names it; pod level not set"
    assert reason(pod(container("a")), "cpu.max") == "left alone: BestEffort"


@pytest.mark.parametrize(
    ("conditions", "value", "words"),
    [
        ((), "4000m", "per container, the largest of desired, allocated and actual"),
        (
            (resize_pending("Infeasible"),),
            "3000m",
            "per container, the largest of allocated and actual; the resize is infeasible",
        ),
    ],
)
def test_requests_in_use(conditions: tuple[object, ...], value: str, words: str) -> None:
    """During a resize the scheduler counts more, or less, than the spec asks for."""
    desired = "2" if not conditions else "8"
    reports = (reported("a", "1", "4" if not conditions else "3"),)
    status = PodStatus(container_statuses=reports, conditions=conditions)  # type: ignore[arg-type]
    rows = origins(pod(container("a", desired), status=status), NODE)
    assert [row for row in rows if row.figure == "cpu in use"] == [Origin("cpu in use", value, words)]


def test_oom_reasons() -> None:
    critical = pod(container("a"), priority=2_000_001_000, priority_class="system-node-critical")
    shared = pod(container("a", ",1Gi"), level=("1,2Gi", ""))
    assert reason(critical, "oom_score_adj of a") == "node-critical"
    assert reason(pod(container("a")), "oom_score_adj of a") == "BestEffort"
    assert reason(shared, "oom_score_adj of a") == (
        "requests 1073741824 and 1073741824 as its share of pod level of 17179869184 bytes"
    )


def test_a_limit_of_zero_is_none() -> None:
    case = pod(container("a", "1,1Gi", "1,1Gi"), container("b", "", "0,0"))
    assert reason(case, "QoS class") == "in container b cpu has no limit"
