"""Plans of in-place resizes for machines of KubeVirt, and for our own."""

from typing import Any

import pytest

from flexlet.api import decode
from flexlet.api.units import GIB, MIB
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.bridge import is_machine, subject
from flexlet.core.vm.plan import Plan, plan
from flexlet.core.vm.settings import Settings
from flexlet.errors import InputError

PLAIN = Settings()
Json = dict[str, Any]


def kubevirt(cpu: Json | None = None, memory: Json | None = None, spec: Json | None = None, **domain: Any) -> Json:
    found = {"cpu": cpu or {"sockets": 4, "maxSockets": 16}, "memory": memory or {"guest": "8Gi"}, **domain}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"template": {"spec": {"domain": found, **(spec or {})}}},
    }


def flexvm(**memory: Any) -> Json:
    return {**kubevirt(memory=memory), "apiVersion": "vm.flexlet.io/v1alpha1", "kind": "FlexVM"}


def planned(body: Json, vcpus: int = 8, gib: float = 16, instance: Json | None = None) -> Plan:
    raw = decode.to_json(instance) if instance else None
    return plan(subject(body, PLAIN, raw), Sizes(vcpus, int(gib * GIB)), PLAIN)


def pods(found: Plan) -> list[tuple[int, int]]:
    """milli-CPUs and MiB of each size that the pod is asked to have."""
    return [(step.pod.cpu_m, step.pod.memory // MIB) for step in found.steps if step.pod]


REQUEST = {"resources": {"requests": {"memory": "8Gi"}}}


@pytest.mark.parametrize(
    ("vcpus", "gib", "steps", "sizes"),
    [
        (8, 16, ["pod", "guest", "pod", "guest"], [(800, 8552), (800, 16760)]),
        (8, 8, ["pod", "guest"], [(800, 8552)]),
        (2, 8, ["guest", "pod"], [(200, 8504)]),
        (2, 16, ["pod", "guest", "guest", "pod"], [(400, 16728), (200, 16712)]),
        (4, 8, [], []),
    ],
)
def test_the_order_of_steps(vcpus: int, gib: int, steps: list[str], sizes: list[tuple[int, int]]) -> None:
    """Pods grow before guests, and shrink after them; never up and down at once."""
    found = planned(kubevirt(**REQUEST), vcpus, gib)
    assert ([step.who for step in found.steps], pods(found), found.hindrances) == (steps, sizes, [])


def test_a_machine_that_names_no_request_has_no_page_tables_in_kubevirt() -> None:
    found = planned(kubevirt())
    assert (found.before.pod.memory, found.after.pod.memory) == (8504 * MIB, 16728 * MIB)
    assert found.notes == [
        "KubeVirt counts no page tables, as resources.requests.memory is not set: the pod lacks up to 32Mi"
    ]


ALL: Json = {
    "devices": {
        "autoattachGraphicsDevice": False,
        "interfaces": [{"name": "fast", "sriov": {}}, {"name": "slow", "passtBinding": {}}],
        "tpm": {"persistent": True},
    },
    "ioThreads": {"supplementalPoolThreadCount": 2},
    **REQUEST,
}


def test_terms_that_only_kubevirt_has() -> None:
    probes: Json = {"livenessProbe": {"exec": {}}, "readinessProbe": {"httpGet": {}}}
    spec = {**probes, "volumes": [{"name": "metrics", "downwardMetrics": {}}]}
    found = planned(kubevirt(spec=spec, **ALL))
    assert [(name, size // MIB) for name, size in found.before.overhead] == [
        ("page tables", 16),
        ("virt-launcher-monitor", 25),
        ("virt-launcher", 100),
        ("virtlogd", 25),
        ("virtqemud", 40),
        ("qemu", 50),
        ("vCPUs", 32),
        ("I/O thread", 8),
        ("VFIO", 1024),
        ("downward metrics", 1),
        ("exec probes", 110),
        ("TPM", 53),
        ("network bindings", 250),
    ]
    assert (found.before.pod.cpu_m, found.after.pod.cpu_m) == (600, 1000)


HIGHER = "CPU sockets updated in template spec to a value higher than what's available"
PAGES = {"guest": "8Gi", "hugepages": {"pageSize": "2Mi"}}


@pytest.mark.parametrize(
    ("body", "vcpus", "gib", "hindrances"),
    [
        (kubevirt(), 20, 8, [("cpu", "RestartRequired")]),
        (kubevirt(), 4, 33, [("memory", "RestartRequired")]),
        (kubevirt(), 4, 4, [("memory", "RestartRequired")]),
        (kubevirt(memory=PAGES), 8, 8, []),
        (kubevirt(memory=PAGES), 8, 16, [("memory", "HugepagesInPlace")]),
        (kubevirt({"sockets": 4, "dedicatedCpuPlacement": True}), 4, 16, []),
        (kubevirt({"sockets": 4, "dedicatedCpuPlacement": True}), 8, 16, [("cpu", "DedicatedCPUs")]),
        (
            kubevirt(spec={"architecture": "arm64"}),
            8,
            16,
            [("cpu", "ArchUnsupported"), ("memory", "ArchUnsupported")],
        ),
        (kubevirt({"sockets": 4, "realtime": {}}), 8, 16, [("memory", "NotHotpluggable")]),
        (
            kubevirt(launchSecurity={"sev": {"policy": {"encryptedState": True}}}),
            8,
            16,
            [("memory", "NotHotpluggable")],
        ),
        (kubevirt(memory={"guest": "512Mi"}), 8, 1, [("memory", "NotHotpluggable")]),
        (kubevirt(), 4, 8 + 1 / 1024, [("memory", "Unaligned")]),
        (flexvm(guest="8Gi", minGuest="4Gi"), 2, 4, []),
        (flexvm(guest="8Gi", minGuest="4Gi"), 2, 2, [("memory", "RestartRequired")]),
    ],
)
def test_what_hinders(body: Json, vcpus: int, gib: float, hindrances: list[tuple[str, str]]) -> None:
    found = planned(body, vcpus, gib)
    assert [(each.resource, each.reason) for each in found.hindrances] == hindrances
    assert bool(found.steps) is not bool(hindrances)


def test_what_hinders_a_migration_hinders_nothing_here() -> None:
    why = {"type": "LiveMigratable", "status": "False", "reason": "HostDeviceNotLiveMigratable", "message": "GPU"}
    body = {**kubevirt(**REQUEST), "status": {"conditions": [why]}}
    found = planned(body, 2, 16)
    assert found.hindrances == []
    assert found.notes == [
        "it cannot be migrated (HostDeviceNotLiveMigratable: GPU), which does not matter in place",
        "KubeVirt itself would say: Reduction of CPU socket count requires a restart",
        (
            "KubeVirt itself would say: memory updated in template spec. Memory-hotplug is only available for"
            " migratable VMs"
        ),
    ]


def test_a_running_instance_says_what_there_is() -> None:
    """What it started with is its least, and what it has now is where the plan starts."""
    instance = {
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"domain": {"cpu": {"sockets": 8, "maxSockets": 16}, "memory": {"guest": "16Gi"}, **REQUEST}},
        "status": {
            "currentCPUTopology": {"sockets": 8, "cores": 1, "threads": 1},
            "memory": {"guestAtBoot": "8Gi", "guestCurrent": "12Gi"},
        },
    }
    found = planned(kubevirt(), 8, 8, instance)
    assert (found.before.guest, found.hindrances) == (Sizes(8, 12 * GIB), [])
    assert [each.message for each in planned(kubevirt(), 8, 33, instance).hindrances] == [
        "memory updated in template spec to a value higher than what's available (32Gi)"
    ]


def test_sizes_of_instancetypes_are_not_guessed() -> None:
    body = kubevirt()
    body["spec"]["instancetype"] = {"name": "u1-large"}
    with pytest.raises(InputError, match="db has its size from instancetype u1-large"):
        subject(body, PLAIN)


def test_what_can_be_planned() -> None:
    assert is_machine(kubevirt())
    assert is_machine(flexvm(guest="1Gi"))
    assert not is_machine({"apiVersion": "v1", "kind": "Pod"})
    assert not is_machine({"apiVersion": "other.io/v1", "kind": "VirtualMachine"})
    assert not is_machine("text")


@pytest.mark.parametrize(
    ("amounts", "gib", "pod"),
    [
        ({"requests": {"memory": "8Gi"}}, 4, (4416, None)),
        ({"requests": {"memory": "9Gi"}}, 4, (9216 + 320, None)),
        ({"limits": {"memory": "8Gi"}}, 16, (16696, 16696)),
        ({"requests": {"memory": "8Gi"}, "limits": {"memory": "10Gi"}}, 16, (16728, 18776)),
    ],
)
def test_pods_of_kubevirt_follow_their_guest(amounts: Json, gib: int, pod: tuple[int, int | None]) -> None:
    """Down, too: KubeVirt changes requests and limits by the difference, so they are no floor there."""
    found = planned(kubevirt(resources=amounts), 4, gib).after.pod
    assert (found.memory / MIB, found.memory_limit and found.memory_limit / MIB) == pod
