"""Machines as rows."""

import pytest
from tests.core.sizes.vmkit import vm

from flexlet.api import decode
from flexlet.core.sizes.vms import of_vm, of_vms, rows
from flexlet.core.vm.objects import FlexVM


def test_machines_are_shown_by_name_with_what_is_and_what_shall_be() -> None:
    """A machine that nobody has looked at shows what it will have."""
    grows = vm(
        domain={"cpu": {"sockets": 4, "cores": 2}, "memory": {"guest": "16Gi"}},
        pod={"desired": {"cpu": "800m", "memory": "16760Mi"}, "allocated": {"cpu": "800m", "memory": "8552Mi"}},
        resize={"phase": "PodDeferred", "message": "node n1 has no room"},
    )
    new = vm("new", {"cpu": {"vcpus": 3}, "memory": {}}, printableStatus="", pod=None, memory=None, nodeName="")
    new = decode.from_value({**decode.to_value(new), "status": {}}, FlexVM)
    found = rows(of_vms([grows, new, vm("idle")]))
    assert found == [
        ("NAME", "STATUS", "NODE", "VCPUS", "MEMORY", "POD CPU", "POD MEMORY", "RESIZE"),
        (
            *("db", "Running", "n1", "4 -> 8", "8Gi -> 16Gi", "0.8", "8.352Gi -> 16.37Gi"),
            "PodDeferred: node n1 has no room",
        ),
        ("idle", "Running", "n1", "4", "8Gi", "0.4", "8.32Gi", "Idle"),
        ("new", "Unknown", "-", "3", "0", "-", "-", "Idle"),
    ]
    assert [row[:3] for row in rows(of_vms([vm()]), everywhere=True)] == [
        ("NAMESPACE", "NAME", "STATUS"),
        ("default", "db", "Running"),
    ]


@pytest.mark.parametrize(
    ("phase", "shown"),
    [("Done", "RestartRequired: more than maxSockets"), ("PodGrowing", "PodGrowing: pod to 800m")],
)
def test_a_change_that_needs_a_restart_is_not_done(phase: str, shown: str) -> None:
    """What is under way comes first: it may be the other resource."""
    needed = {"type": "RestartRequired", "status": "True", "message": "more than maxSockets"}
    resize = {"phase": phase, "message": "pod to 800m"}
    assert of_vm(vm(resize=resize, conditions=[needed])).resize == shown


def test_one_for_programs() -> None:
    found = decode.to_value(of_vm(vm(resize={"phase": "Done"})))
    pod = {"cpu": "400m", "memory": "8520Mi"}
    assert found == {
        "namespace": "default",
        "name": "db",
        "status": "Running",
        "node": "n1",
        "vcpus": {"now": 4, "wanted": 4},
        "memory": {"now": "8Gi", "wanted": "8Gi"},
        "pod": {"name": "virt-launcher-db", "desired": pod, "allocated": pod, "actual": pod},
        "phase": "Done",
        "message": "",
        "conditions": (),
    }
