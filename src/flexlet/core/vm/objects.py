"""FlexVM and FlexVMMigration (vm.flexlet.io/v1alpha1): KubeVirt's field paths, as far as they are supported.

Absent fields mean what their comment says; `defaults` fills them in. Amounts of memory are quantities.
"""

from typing import Final, Literal

import msgspec

from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity

RunStrategy = Literal["Always", "Halted", "Manual", "RerunOnFailure"]
Fallback = Literal["Wait", "Migrate", "Restart", "Fail"]
PartialShrink = Literal["Accept", "Revert"]
Order = Literal["Parallel", "CpuFirst"]
LimitPolicy = Literal["None", "Match"]
OverheadModel = Literal["kubevirt", "flexlet", "measured"]
Direction = Literal["", "Grow", "Shrink", "Mixed"]
Phase = Literal[
    "Idle", "PodGrowing", "PodDeferred", "GuestChanging", "PodShrinking", "Migrating", "Done", "Failed"
]
MigrationPhase = Literal["", "Pending", "Scheduling", "Preparing", "Running", "Succeeded", "Failed"]

AT_REST: Final = frozenset({"", "Idle", "Done"})
"""Phases of a resize in which nothing is on its way, and nothing is held."""
DEFER_TIMEOUT_S: Final = 300.0
UNPLUG_TIMEOUT_S: Final = 120.0


class Cpu(KubeStruct, frozen=True, kw_only=True):
    """vCPUs are sockets x cores x threads; only `sockets` (or `vcpus`) changes while the machine runs."""

    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    vcpus: int | None = None
    """Instead of the three: that many sockets of one core and one thread."""
    max_sockets: int | None = None
    """Absent: sockets x 4, at most 512 vCPUs."""
    model: str = ""
    """Absent: the host's with KVM."""
    dedicated_cpu_placement: bool = False
    isolate_emulator_thread: bool = False
    limit_policy: LimitPolicy = "None"
    """Match: the pod's CPU limit is the number of vCPUs."""


class Hugepages(KubeStruct, frozen=True, kw_only=True):
    """The guest's memory is made of huge pages of the node."""

    page_size: str = ""


class ReservedOverhead(KubeStruct, frozen=True, kw_only=True):
    """What devices need beside all that is known of."""

    added_overhead: Quantity | None = None
    mem_lock: Literal["", "Required", "NotRequired"] = ""


class Memory(KubeStruct, frozen=True, kw_only=True):
    """Sizes of the guest's memory."""

    guest: Quantity | None = None
    max_guest: Quantity | None = None
    """Absent: guest x 4."""
    min_guest: Quantity | None = None
    """The part that is always there; absent: max(1Gi, maxGuest / 4), not above guest."""
    device: Literal["", "virtio-mem", "pc-dimm"] = ""
    """What comes and goes (not in KubeVirt); absent: virtio-mem. pc-dimm is for guests without its driver."""
    hugepages: Hugepages | None = None
    reserved_overhead: ReservedOverhead | None = None


class DomainResources(KubeStruct, frozen=True, kw_only=True):
    """The launcher pod's amounts where they are not to follow from the guest's size."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)
    overcommit_guest_overhead: bool = False


class DiskTarget(KubeStruct, frozen=True, kw_only=True):
    """How the guest sees a disk."""

    bus: str = "virtio"
    readonly: bool = False


class Disk(KubeStruct, frozen=True, kw_only=True):
    """A disk of the guest; the volume has the same name."""

    name: str = ""
    disk: DiskTarget | None = None
    boot_order: int | None = None


class Interface(KubeStruct, frozen=True, kw_only=True):
    """A network interface; the only kind at present is QEMU's user-mode network."""

    name: str = ""
    model: str = "virtio"
    user: dict[str, str] | None = None
    """``user: {}`` names the kind honestly: traffic passes through QEMU, nobody reaches the guest by itself."""
    ports: tuple["Port", ...] = ()


class Port(KubeStruct, frozen=True, kw_only=True):
    """A port of the guest that the pod forwards to it."""

    name: str = ""
    port: int = 0
    protocol: str = "TCP"


class HostDevice(KubeStruct, frozen=True, kw_only=True):
    """A device of the node that is handed to the guest."""

    name: str = ""
    device_name: str = ""


class Devices(KubeStruct, frozen=True, kw_only=True):
    """What is attached."""

    disks: tuple[Disk, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    gpus: tuple[HostDevice, ...] = ()
    host_devices: tuple[HostDevice, ...] = ()
    autoattach_graphics_device: bool = False
    tpm: dict[str, bool] | None = None


class KernelContainer(KubeStruct, frozen=True, kw_only=True):
    """An image that holds a kernel."""

    image: str = ""
    kernel_path: str = ""
    initrd_path: str = ""


class KernelBoot(KubeStruct, frozen=True, kw_only=True):
    """Start this kernel instead of what is on the disk."""

    kernel_args: str = ""
    container: KernelContainer | None = None
    host_path: str = ""
    """A directory of the node with kernelPath and initrdPath, instead of an image (not in KubeVirt)."""
    kernel_path: str = ""
    initrd_path: str = ""


class Firmware(KubeStruct, frozen=True, kw_only=True):
    """How the guest starts."""

    kernel_boot: KernelBoot | None = None


class Domain(KubeStruct, frozen=True, kw_only=True):
    """The machine."""

    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    resources: DomainResources = DomainResources()
    devices: Devices = Devices()
    firmware: Firmware = Firmware()
    launch_security: dict[str, dict[str, str]] | None = None


class ContainerDisk(KubeStruct, frozen=True, kw_only=True):
    """A disk inside an image (``/disk/`` by default); what the guest writes is lost with the pod."""

    image: str = ""
    path: str = ""


class HostDisk(KubeStruct, frozen=True, kw_only=True):
    """A disk that is a file of the node."""

    path: str = ""
    type: Literal["Disk", "DiskOrCreate"] = "Disk"
    capacity: Quantity | None = None
    shared: bool = False
    """Whether all nodes see the same file there."""


class EmptyDisk(KubeStruct, frozen=True, kw_only=True):
    """A new disk, lost with the pod."""

    capacity: Quantity | None = None


class Volume(KubeStruct, frozen=True, kw_only=True):
    """Where a disk's content comes from: exactly one of these."""

    name: str = ""
    container_disk: ContainerDisk | None = None
    host_disk: HostDisk | None = None
    empty_disk: EmptyDisk | None = None


class Network(KubeStruct, frozen=True, kw_only=True):
    """A network by name; ``pod: {}`` is the only one."""

    name: str = ""
    pod: dict[str, str] | None = None


class Machine(KubeStruct, frozen=True, kw_only=True):
    """spec.template.spec."""

    domain: Domain = Domain()
    volumes: tuple[Volume, ...] = ()
    networks: tuple[Network, ...] = ()
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    priority_class_name: str = ""
    termination_grace_period_seconds: int | None = None
    """Absent: 30; how long the guest may take to shut down."""
    architecture: Literal["", "amd64", "arm64"] = ""


class TemplateMeta(KubeStruct, frozen=True, kw_only=True):
    """What launcher pods are labelled with."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class Template(KubeStruct, frozen=True, kw_only=True):
    """The machine that runs."""

    metadata: TemplateMeta = TemplateMeta()
    spec: Machine = Machine()


class VmResizePolicy(KubeStruct, frozen=True, kw_only=True):
    """What to do when a resize does not go straight through."""

    fallback: Fallback = "Wait"
    defer_timeout: str = ""
    """A duration such as 5m, which it is when absent."""
    unplug_timeout: str = ""
    """Absent: 2m."""
    partial_shrink: PartialShrink = "Accept"
    order: Order = "CpuFirst"


class FlexVMSpec(KubeStruct, frozen=True, kw_only=True):
    """What is wanted."""

    run_strategy: RunStrategy | None = None
    """Absent: Always, or what `running` says."""
    running: bool | None = None
    overhead_model: OverheadModel = "kubevirt"
    resize_policy: VmResizePolicy = VmResizePolicy()
    template: Template = Template()


class Topology(KubeStruct, frozen=True, kw_only=True):
    """What the guest has, as KubeVirt tells it."""

    sockets: int = 0
    cores: int = 0
    threads: int = 0


class MemoryStatus(KubeStruct, frozen=True, kw_only=True):
    """The guest's memory: when it started, now, as asked of it; and what the pod needs beside it."""

    guest_at_boot: Quantity | None = None
    guest_current: Quantity | None = None
    guest_requested: Quantity | None = None
    memory_overhead: Quantity | None = None
    overhead_correction: Quantity | None = None
    """By how much the formula for it was found to be off (overheadModel measured)."""


class PodSizes(KubeStruct, frozen=True, kw_only=True):
    """The launcher's requests as wanted, granted and in force."""

    name: str = ""
    uid: str = ""
    desired: ResourceList = msgspec.field(default_factory=dict)
    allocated: ResourceList = msgspec.field(default_factory=dict)
    actual: ResourceList = msgspec.field(default_factory=dict)


class GuestAmounts(KubeStruct, frozen=True, kw_only=True):
    """vCPUs and memory of a guest."""

    vcpus: int = 0
    memory: Quantity = Quantity(0)


class Setback(KubeStruct, frozen=True, kw_only=True):
    """Why one resource does not get what is wanted, and what it is held at instead."""

    resource: str = ""
    """cpu or memory."""
    reason: str = ""
    """Such as QuotaExceeded, NodeCapacity, PlugFailed, UnplugPartial."""
    message: str = ""
    held: Quantity = Quantity(0)
    """vCPUs or bytes that the guest is asked to have from now on."""
    since: str = ""
    looks: int = 0
    """How often it was tried again."""


class Resize(KubeStruct, frozen=True, kw_only=True):
    """The resize under way, or the last one."""

    id: str = ""
    direction: Direction = ""
    phase: Phase = "Idle"
    target: GuestAmounts | None = None
    reached: GuestAmounts | None = None
    started_at: str = ""
    finished_at: str = ""
    message: str = ""
    deferred_at: str = ""
    """Since when the node has had no room."""
    attempts: int = 0
    """How often the guest failed at what it was last asked for."""
    request: str = ""
    """The annotation vm.flexlet.io/requested-at it is done for."""
    origin: GuestAmounts | None = None
    """What the guest had before."""
    setbacks: tuple[Setback, ...] = ()
    remedy: str = ""
    """What was asked of the node itself, once, to make room."""
    fallback: str = ""
    """What was done instead, once: Migrate, Restart, Fail."""


class StartFailure(KubeStruct, frozen=True, kw_only=True):
    """Launchers that ended soon after they were started, as KubeVirt counts them."""

    consecutive_fail_count: int = 0
    last_failed_uid: str = msgspec.field(default="", name="lastFailedUID")
    retry_after_timestamp: str = ""


class FlexVMStatus(KubeStruct, frozen=True, kw_only=True):
    """What came of it."""

    observed_generation: int = 0
    printable_status: str = ""
    """One word for people: Stopped, Starting, Running, Resizing, Migrating, Stopping."""
    node_name: str = ""
    current_cpu_topology: Topology | None = msgspec.field(default=None, name="currentCPUTopology")
    memory: MemoryStatus | None = None
    pod: PodSizes | None = None
    resize: Resize | None = None
    started_with: str = ""
    """Of the running machine: a digest of all that cannot change while it runs."""
    devices: tuple[str, ...] = ()
    """Devices that were handed to the running machine: its pod has room for them until it ends."""
    start_failure: StartFailure | None = None
    power: str = ""
    """The value of annotation vm.flexlet.io/power that was obeyed last."""
    ended: str = ""
    """How the machine ended: Succeeded or Failed by itself, Stopped by the power switch; empty otherwise."""
    conditions: tuple[Condition, ...] = ()


class FlexVM(KubeStruct, frozen=True, kw_only=True):
    """One virtual machine."""

    metadata: ObjectMeta = ObjectMeta()
    spec: FlexVMSpec = FlexVMSpec()
    status: FlexVMStatus = FlexVMStatus()


class MigrationSpec(KubeStruct, frozen=True, kw_only=True):
    """Which machine is to move."""

    vm_name: str = ""
    node_name: str = ""
    """Where to; absent: wherever the scheduler finds room, on another node."""


class MigrationStatus(KubeStruct, frozen=True, kw_only=True):
    """How far it is."""

    phase: MigrationPhase = ""
    source_pod: str = ""
    target_pod: str = ""
    source_node: str = ""
    target_node: str = ""
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    transferred_bytes: int = 0
    downtime_milliseconds: int = 0
    total_milliseconds: int = 0


class FlexVMMigration(KubeStruct, frozen=True, kw_only=True):
    """One move of one machine from one pod to another."""

    metadata: ObjectMeta = ObjectMeta()
    spec: MigrationSpec = MigrationSpec()
    status: MigrationStatus = MigrationStatus()


CONDITIONS: Final = (
    "Ready",
    "Resizable",
    "ResizeInProgress",
    "HotVCPUChange",
    "HotMemoryChange",
    "RestartRequired",
    "PartiallyResized",
)
EVENTS: Final = (
    "VMResizeStarted",
    "PodResizeDeferred",
    "PodResizeInfeasible",
    "GuestPlugged",
    "GuestUnplugPartial",
    "VMResizeCompleted",
    "VMResizeFailed",
    "VMResizeFallback",
    "GuestNotOnlined",
)
