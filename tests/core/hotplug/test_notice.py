"""What programs on the node are told of its size."""

import msgspec
from tests.core.hotplug.nodes import SETTINGS, machine

from flexlet.api.units import GIB, MIB, Bytes
from flexlet.core.hotplug import notice
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.view import view
from flexlet.core.machine.difference import difference
from flexlet.core.machine.machine import Cpu, NumaNode


def test_a_notice_is_whole() -> None:
    small = machine(2, "4Gi")
    cpus = [Cpu(each, core=each, socket=each // 2, numa=each // 2, cache=0) for each in range(4)]
    nodes = tuple(
        NumaNode(
            id=each, memory=Bytes(4 * GIB), hugepages={2 * MIB: 64 * each}, distances={each: 10, 1 - each: 20}
        )
        for each in (0, 1)
    )
    large = machine(cpus, "8Gi", numa=nodes, hugepages={2 * MIB: 64})
    changes = tuple(each for each in difference(small, large) if each.resource in ("cpu", "memory"))
    found = Generation(number=7, machine=large, changes=changes, seen_at=1_800_000_000)
    assert notice.notice("node-1", found, view(large, SETTINGS)) == {
        "apiVersion": "flexlet.io/v1alpha1",
        "kind": "NodeGeneration",
        "node": "node-1",
        "generation": 7,
        "bootID": "boot-1",
        "seenAt": "2027-01-15T08:00:00Z",
        "changes": [
            {"resource": "cpu", "direction": "increase", "before": 2, "after": 4},
            {"resource": "memory", "direction": "increase", "before": 4 * GIB, "after": 8 * GIB},
        ],
        "capacity": {"cpu": "4", "memory": "8Gi", "hugepages-2Mi": "128Mi", "pods": "110"},
        "allocatable": {"cpu": "3", "memory": "6940Mi", "hugepages-2Mi": "128Mi", "pods": "110"},
        "cpus": "0-3",
        "memoryBytes": 8 * GIB,
        "swapBytes": 4 * GIB,
        "hugepages": {"2Mi": 64},
        "numaNodes": [
            {
                "id": 0,
                "cpus": "0-1",
                "memoryBytes": 4 * GIB,
                "hugepages": {"2Mi": 0},
                "distances": {"0": 10, "1": 20},
            },
            {
                "id": 1,
                "cpus": "2-3",
                "memoryBytes": 4 * GIB,
                "hugepages": {"2Mi": 64},
                "distances": {"0": 20, "1": 10},
            },
        ],
    }


def test_a_notice_is_one_line() -> None:
    told = notice.notice("n", Generation(number=1, machine=machine()), view(machine(), SETTINGS))
    line = notice.line(told)
    assert line.count(b"\n") == 1
    assert msgspec.json.decode(line) == told
