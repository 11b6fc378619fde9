"""What is said of FlexVMs that cannot be started, changed or resized as they are written."""

from typing import Any

import msgspec
import pytest

from flexlet.api.units import GIB, MIB
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.validation import complaints, not_resizable, restart_reasons
from flexlet.core.vm.wanted import machine, wanted

PLAIN = Settings()
Json = dict[str, Any]
D = "spec.template.spec.domain"


def vm(cpu: Json | None = None, memory: Json | None = None, spec: Json | None = None, **domain: Any) -> FlexVM:
    """The machine `db` of §12, changed."""
    found = {"cpu": {"sockets": 4, "maxSockets": 16} if cpu is None else cpu, **domain}
    found["memory"] = {"minGuest": "4Gi", "guest": "8Gi", "maxGuest": "16Gi"} if memory is None else memory
    body = {"metadata": {"name": "db"}, "spec": {"template": {"spec": {"domain": found, **(spec or {})}}}}
    return msgspec.convert(body, FlexVM, dec_hook=_quantity)


def _quantity(kind: type, value: Any) -> Any:
    return kind.parse(str(value))  # type: ignore[attr-defined]


def spec(**parts: Any) -> FlexVM:
    return vm(spec=parts)


DISK = {"name": "root", "containerDisk": {"image": "disk:1"}}


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        (vm(), []),
        (vm({"vcpus": 3}, {"guest": "2Gi"}), []),
        (vm({"sockets": 20, "maxSockets": 16}, {"guest": "64Gi", "maxGuest": "16Gi"}), []),
        (
            vm(memory={"guest": "8193Mi"}),
            [(f'{D}.memory.guest: Invalid value: "8193Mi": Guest memory must be 2Mi aligned: use 8Gi or 8194Mi')],
        ),
        (
            vm(memory={"guest": "8Gi", "device": "pc-dimm", "maxGuest": "16386Mi"}),
            [
                (
                    f'{D}.memory.maxGuest: Invalid value: "16386Mi": MaxGuest must be 128Mi aligned: use 16Gi or'
                    " 16512Mi"
                )
            ],
        ),
        (
            vm(memory={"guest": "8704Mi", "hugepages": {"pageSize": "1Gi"}}),
            [f'{D}.memory.guest: Invalid value: "8704Mi": Guest memory must be 1Gi aligned: use 8Gi or 9Gi'],
        ),
        (
            vm(memory={"guest": "8Gi", "hugepages": {"pageSize": "4Ki"}}),
            [f'{D}.memory.hugepages.pageSize: Unsupported value: "4Ki": supported values: "2Mi", "1Gi"'],
        ),
        (
            vm(memory={"guest": "8Gi", "minGuest": "16Gi", "maxGuest": "8Gi"}),
            [
                (
                    f'{D}.memory.minGuest: Invalid value: "16Gi": must not be more than maxGuest 8Gi: lower it or'
                    " raise maxGuest"
                )
            ],
        ),
        (
            vm(memory={}),
            [f"{D}.memory.guest: Required value: say how much memory the guest has, for example guest: 2Gi"],
        ),
        (
            vm({"vcpus": 4, "cores": 2}),
            [
                (
                    f"{D}.cpu.vcpus: Forbidden: vcpus is that many sockets of one core: give either vcpus, or"
                    " sockets, cores and threads"
                )
            ],
        ),
        (
            vm({"sockets": 4, "cores": 64, "maxSockets": 16}),
            [f"{D}.cpu.maxSockets: Invalid value: 16: makes 1024 vCPUs of at most 512: use at most 8"],
        ),
        (
            vm({"sockets": 4, "isolateEmulatorThread": True}),
            [
                (
                    f"{D}.cpu.isolateEmulatorThread: Invalid value: true: IsolateEmulatorThread should be only set"
                    " in combination with DedicatedCPUPlacement"
                )
            ],
        ),
        (
            vm(resources={"requests": {"memory": "10Gi"}, "limits": {"memory": "9Gi"}}),
            [
                (
                    f'{D}.resources.requests.memory: Invalid value: "10Gi": is greater than'
                    f" {D}.resources.limits.memory '9Gi'"
                )
            ],
        ),
        (
            vm(devices={"tpm": {}}),
            [f"{D}.devices.tpm: Forbidden: a TPM is not supported: remove it"],
        ),
        (
            vm(devices={"disks": [{"name": "data"}]}, spec={"volumes": [DISK]}),
            [
                (
                    f"{D}.devices.disks[0].name: Invalid value: \"data\": {D}.devices.disks[0].name 'data' not"
                    " found: name a volume of spec.template.spec.volumes"
                )
            ],
        ),
        (
            spec(volumes=[DISK, DISK]),
            ['spec.template.spec.volumes: Duplicate value: "root"'],
        ),
        (
            spec(volumes=[{"name": "a"}]),
            [
                (
                    "spec.template.spec.volumes[0]: Required value: give exactly one of containerDisk, hostDisk,"
                    " emptyDisk"
                )
            ],
        ),
        (
            vm(devices={"interfaces": [{"name": "default"}]}, spec={"networks": [{"name": "default", "pod": {}}]}),
            [
                (
                    f"{D}.devices.interfaces[0].user: Required value: user: {{}} (QEMU's user-mode network) is the"
                    " only kind that is supported: write it"
                )
            ],
        ),
        (
            vm(firmware={"kernelBoot": {"kernelPath": "bzImage"}}),
            [
                (
                    f"{D}.firmware.kernelBoot: Required value: give container (an image with a kernel) or hostPath"
                    " (a directory of the node)"
                )
            ],
        ),
    ],
)
def test_complaints(found: FlexVM, texts: list[str]) -> None:
    assert [str(complaint) for complaint in complaints(found, PLAIN)] == texts


HIGHER = "CPU sockets updated in template spec to a value higher than what's available"
LOWER = "memory updated in template spec to a value lower than what the VM started with"
MORE = "memory updated in template spec to a value higher than what's available"
OTHER = "a non-live-updatable field was changed in the template spec: "
SIZES = {"minGuest": "4Gi", "maxGuest": "16Gi"}


@pytest.mark.parametrize(
    ("changed", "reasons"),
    [
        (vm(), []),
        (vm({"sockets": 16, "maxSockets": 16}, SIZES | {"guest": "16Gi"}), []),
        (vm({"sockets": 1, "maxSockets": 16}, SIZES | {"guest": "4Gi"}), []),
        (vm({"sockets": 20, "maxSockets": 16}), [HIGHER]),
        (vm(memory=SIZES | {"guest": "1Gi"}), [LOWER]),
        (vm(memory=SIZES | {"guest": "64Gi"}), [MORE]),
        (vm({"sockets": 20, "maxSockets": 16}, SIZES | {"guest": "64Gi"}), [HIGHER, MORE]),
        (vm({"sockets": 4, "cores": 2, "maxSockets": 16}), [f"{OTHER}domain.cpu.cores"]),
        (vm({"sockets": 4, "maxSockets": 32}), [f"{OTHER}domain.cpu.maxSockets"]),
        (
            vm(memory={"guest": "8Gi", "minGuest": "2Gi", "maxGuest": "32Gi"}),
            [f"{OTHER}domain.memory.maxGuest, domain.memory.minGuest"],
        ),
        (spec(volumes=[DISK]), [f"{OTHER}volumes"]),
    ],
)
def test_what_waits_for_a_restart(changed: FlexVM, reasons: list[str]) -> None:
    """KubeVirt's messages; a smaller guest is no reason any more, down to minGuest."""
    assert restart_reasons(changed, machine(vm(), PLAIN), PLAIN) == reasons


def test_what_follows_from_the_size_is_the_running_machines_own() -> None:
    """A machine that names no bounds keeps those it was started with, whatever it would have got by now."""
    running = machine(vm({"sockets": 4}, {"guest": "8Gi"}), PLAIN)
    assert restart_reasons(vm({"sockets": 8}, {"guest": "16Gi"}), running, PLAIN) == []
    assert restart_reasons(vm({"sockets": 17}, {"guest": "33Gi"}), running, PLAIN) == [HIGHER, MORE]


def test_where_changes_are_staged_every_one_waits() -> None:
    staged = Settings(rollout_strategy="Stage")
    changed = vm({"sockets": 8, "maxSockets": 16}, SIZES | {"guest": "16Gi"})
    assert restart_reasons(changed, machine(vm(), staged), staged) == [
        f"{OTHER}domain.cpu.sockets, domain.memory.guest"
    ]


def test_arm_and_encryption_keep_their_size() -> None:
    running = machine(spec(architecture="arm64"), PLAIN)
    bigger = vm({"sockets": 8, "maxSockets": 16}, spec={"architecture": "arm64"})
    assert restart_reasons(bigger, running, PLAIN) == ["ARM doesn't support CPU hotplug"]
    smaller = vm({"sockets": 2, "maxSockets": 16}, spec={"architecture": "arm64"})
    assert restart_reasons(smaller, running, PLAIN) == ["Reduction of CPU socket count requires a restart"]
    sealed = wanted(vm({"sockets": 4}, {"guest": "8Gi"}, launchSecurity={"sev": {}}), PLAIN)
    assert (sealed.min_memory, sealed.max_memory) == (2 * GIB, 8 * GIB)


def test_a_machine_without_room_for_memory() -> None:
    fixed = vm(memory={"guest": "8Gi", "minGuest": "8Gi", "maxGuest": "8Gi"})
    running = machine(fixed, PLAIN)
    assert restart_reasons(vm(memory={"guest": "9Gi"}), running, PLAIN) == [
        "memory updated in template spec. Memory-hotplug is not available for this VM configuration"
    ]
    assert {kind: why[0] for kind, why in not_resizable(fixed, running).items()} == {"memory": "NoHotplugSlots"}


@pytest.mark.parametrize(
    ("found", "reasons"),
    [
        (vm(), {}),
        (vm(memory={"guest": "8Gi", "hugepages": {"pageSize": "2Mi"}}), {"memory": "HugepagesInPlace"}),
        (vm({"sockets": 4, "dedicatedCpuPlacement": True}), {"cpu": "DedicatedCPUs"}),
        (vm({"sockets": 1, "maxSockets": 1}), {"cpu": "NoHotplugSlots"}),
        (spec(architecture="arm64"), {"cpu": "ArchUnsupported", "memory": "ArchUnsupported"}),
    ],
)
def test_what_no_pod_can_do_in_place(found: FlexVM, reasons: dict[str, str]) -> None:
    running = machine(found, PLAIN)
    assert {kind: why[0] for kind, why in not_resizable(found, running).items()} == reasons


@pytest.mark.parametrize(
    ("cpu", "memory", "settings", "sizes"),
    [
        ({"sockets": 4}, {"guest": "8Gi"}, PLAIN, (4, 16, 8, 8, 32)),
        ({"vcpus": 4}, {"guest": "8Gi"}, PLAIN, (4, 16, 8, 8, 32)),
        ({}, {"guest": "2Gi"}, PLAIN, (1, 4, 2, 2, 8)),
        ({"sockets": 200}, {"guest": "8Gi", "maxGuest": "16Gi"}, PLAIN, (200, 512, 4, 8, 16)),
        ({"sockets": 8, "cores": 100}, {"guest": "8Gi"}, PLAIN, (8, 8, 8, 8, 32)),
        ({"sockets": 4}, {"guest": "8Gi"}, Settings(max_cpu_sockets=6, max_guest=12 * GIB), (4, 6, 3, 8, 12)),
        ({"sockets": 8}, {"guest": "8Gi"}, Settings(max_cpu_sockets=6, max_guest=4 * GIB), (8, 8, 2, 8, 8)),
        ({"sockets": 4}, {"guest": "8Gi", "maxGuest": "9Gi"}, PLAIN, (4, 16, 2.25, 8, 9)),
        ({"sockets": 1}, {"guest": "512Mi"}, PLAIN, (1, 4, 0.5, 0.5, 2)),
        ({"sockets": 20, "maxSockets": 16}, {"guest": "2Gi", "minGuest": "4Gi"}, PLAIN, (20, 20, 2, 2, 8)),
    ],
)
def test_what_nobody_wrote_is_filled_in(
    cpu: Json, memory: Json, settings: Settings, sizes: tuple[float, ...]
) -> None:
    """Sockets now and at most; least, present and most GiB."""
    found = wanted(vm(cpu, memory), settings)
    amounts = (found.min_memory, found.memory, found.max_memory)
    assert (found.sockets, found.max_sockets, *(amount / GIB for amount in amounts)) == sizes


def test_the_least_memory_is_in_whole_blocks_of_the_guest() -> None:
    found = wanted(vm({"sockets": 1}, {"guest": "8Gi", "maxGuest": "12292Mi"}), PLAIN)
    assert found.min_memory == 3200 * MIB


def test_sizes_may_come_from_the_pod() -> None:
    asked = {"requests": {"cpu": "2500m", "memory": "4Gi"}}
    found = wanted(vm({}, {}, resources=asked), PLAIN)
    assert (found.vcpus, found.memory, found.cpu_request_m) == (3, 4 * GIB, 2500)


def test_the_machine_that_is_started() -> None:
    volumes = [
        {"name": "scratch", "emptyDisk": {"capacity": "1Gi"}},
        {"name": "root", "containerDisk": {"image": "disk:1", "path": "/disk/root.qcow2"}},
        {"name": "own", "hostDisk": {"path": "/srv/own.img", "type": "DiskOrCreate", "capacity": "2Gi"}},
    ]
    disks = [{"name": "root", "bootOrder": 1}, {"name": "own", "disk": {"readonly": True}}]
    ports = [{"port": 22}, {"port": 53, "protocol": "UDP"}]
    devices = {"disks": disks, "interfaces": [{"name": "default", "user": {}, "ports": ports}]}
    boot = {"kernelBoot": {"hostPath": "/boot", "kernelPath": "vmlinuz", "kernelArgs": "quiet"}}
    found = machine(vm(devices=devices, firmware=boot, spec={"volumes": volumes}), PLAIN)
    folder = "/var/lib/flexlet-vm/disks"
    assert [(d.path, d.format, d.is_readonly, d.create) for d in found.disks] == [
        (f"{folder}/root/disk.img", "qcow2", False, 0),
        (f"{folder}/scratch/disk.img", "raw", False, GIB),
        (f"{folder}/own/own.img", "raw", True, 2 * GIB),
    ]
    assert [(f.port, f.protocol) for f in found.forwards] == [(22, "tcp"), (53, "udp")]
    assert (found.kernel, found.initrd, found.kernel_args) == ("/var/lib/flexlet-vm/kernel/vmlinuz", "", "quiet")
    assert (found.block_size, found.has_network, found.grace_s) == (2 * MIB, True, 30.0)
