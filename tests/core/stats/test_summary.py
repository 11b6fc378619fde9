"""``/stats/summary`` against the keys that a real kubelet was seen to answer with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.core.stats.node import NOW, node

from flexlet.core.stats.cgroupfiles import PressureData
from flexlet.core.stats.readings import CgroupReading, ContainerReading, NodeReading, PodReading
from flexlet.core.stats.summary import summary

RECORDED = Path(__file__).parents[2] / "data" / "lives" / "kubelet-metrics.txt"
TIME = "2026-05-28T20:26:40Z"


def keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from keys(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")
    else:
        yield path


def recorded_keys() -> set[str]:
    section = RECORDED.read_text().split("## /stats/summary", 1)[1].split("\n## ", 1)[0]
    return {line.split()[0] for line in section.splitlines()[1:] if line}


def test_the_keys_are_the_kubelets() -> None:
    """Pods and system containers of the recording had no limit; ours here have one, and no swap limit."""
    ours = set(keys(summary(node())))
    assert ours - recorded_keys() == set()
    assert recorded_keys() - ours == {
        "node.systemContainers[].cpu.usageNanoCores",  # of a second reading
        "node.cpu.usageNanoCores",
        "pods[].cpu.usageNanoCores",
        "pods[].containers[].swap.swapAvailableBytes",
    }


def test_a_container() -> None:
    container = summary(node())["pods"][0]["containers"][0]
    some = msgspec.to_builtins(PressureData(3000, 1.5, 0.2, 0.0))
    psi = {"full": msgspec.to_builtins(PressureData(1000)), "some": some}
    fs = {
        "time": TIME,
        "availableBytes": 400,
        "capacityBytes": 1000,
        "usedBytes": 600,
        "inodesFree": 60,
        "inodes": 100,
        "inodesUsed": 40,
    }
    assert container == {
        "name": "app",
        "startTime": "2026-05-28T20:10:05Z",
        "cpu": {"time": TIME, "usageNanoCores": 10**9, "usageCoreNanoSeconds": 2_500_000_000, "psi": psi},
        "memory": {
            "time": TIME,
            "availableBytes": 67108864 - 8388608,
            "usageBytes": 10485760,
            "workingSetBytes": 8388608,
            "rssBytes": 4194304,
            "pageFaults": 1000,
            "majorPageFaults": 3,
            "psi": psi,
        },
        "swap": {"time": TIME, "swapUsageBytes": 4096},
        "io": {"time": TIME, "psi": psi},
        "rootfs": fs,
        "logs": fs,
    }


def test_the_network_of_a_pod_names_the_default_interface_twice() -> None:
    eth0 = {"name": "eth0", "rxBytes": 2000, "rxErrors": 1, "txBytes": 3000, "txErrors": 3}
    assert summary(node())["pods"][0]["network"] == {"time": TIME, **eth0, "interfaces": [eth0]}


def test_a_brief_answer_has_cpu_memory_and_swap_only() -> None:
    brief = summary(node(), only_cpu_and_memory=True)
    assert set(brief["node"]) == {"nodeName", "systemContainers", "startTime", "cpu", "memory", "swap"}
    assert set(brief["pods"][0]) == {"podRef", "startTime", "containers", "cpu", "memory", "swap"}
    assert set(brief["pods"][0]["containers"][0]) == {"name", "startTime", "cpu", "memory", "swap"}


def test_what_is_unknown_is_absent() -> None:
    container = ContainerReading(name="c", usage=CgroupReading(time=NOW))
    bare = NodeReading(
        name="n", time=NOW, pods=(PodReading(namespace="a", name="b", uid="u", containers=(container,)),)
    )
    epoch = "1970-01-01T00:00:00Z"
    assert summary(bare) == {
        "node": {"nodeName": "n", "startTime": epoch, "rlimit": {"time": TIME}},
        "pods": [
            {
                "podRef": {"name": "b", "namespace": "a", "uid": "u"},
                "startTime": epoch,
                "containers": [{"name": "c", "startTime": epoch, "cpu": {"time": TIME}, "memory": {"time": TIME}}],
            }
        ],
    }
