"""VirtualMachine and VirtualMachineInstance (kubevirt.io/v1), as far as their pod's size depends on them."""

from typing import Any, Final, Literal

import msgspec

from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.quantity import Quantity
from flexlet.core.vm.objects import DomainResources, Hugepages, ReservedOverhead
from flexlet.core.vm.settings import Settings

GROUP: Final = "kubevirt.io"
MACHINES: Final = (GROUP, "v1", "virtualmachines")
INSTANCES: Final = (GROUP, "v1", "virtualmachineinstances")
CLUSTERS: Final = (GROUP, "v1", "kubevirts")
Some = dict[str, Any]


class Numa(KubeStruct, frozen=True, kw_only=True):
    """How the guest sees the node's parts."""

    guest_mapping_passthrough: Some | None = None


class Cpu(KubeStruct, frozen=True, kw_only=True):
    """Of the guest."""

    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    max_sockets: int | None = None
    dedicated_cpu_placement: bool = False
    isolate_emulator_thread: bool = False
    realtime: Some | None = None
    numa: Numa | None = None


class Memory(KubeStruct, frozen=True, kw_only=True):
    """Of the guest."""

    guest: Quantity | None = None
    max_guest: Quantity | None = None
    hugepages: Hugepages | None = None
    reserved_overhead: ReservedOverhead | None = None


class Binding(KubeStruct, frozen=True, kw_only=True):
    """A plugin that connects an interface."""

    name: str = ""


class Interface(KubeStruct, frozen=True, kw_only=True):
    """A network interface."""

    name: str = ""
    sriov: Some | None = None
    passt: Some | None = None
    passt_binding: Some | None = None
    binding: Binding | None = None


class Devices(KubeStruct, frozen=True, kw_only=True):
    """What is attached."""

    interfaces: tuple[Interface, ...] = ()
    gpus: tuple[Some, ...] = ()
    host_devices: tuple[Some, ...] = ()
    autoattach_graphics_device: bool | None = None
    tpm: Some | None = None


class IoThreads(KubeStruct, frozen=True, kw_only=True):
    """Threads beside the vCPUs."""

    supplemental_pool_thread_count: int = 0


class Domain(KubeStruct, frozen=True, kw_only=True):
    """The machine."""

    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    resources: DomainResources = DomainResources()
    devices: Devices = Devices()
    io_threads: IoThreads = IoThreads()
    launch_security: Some | None = None


class Probe(KubeStruct, frozen=True, kw_only=True):
    """A check of the guest."""

    exec: Some | None = None


class Volume(KubeStruct, frozen=True, kw_only=True):
    """Where a disk's content comes from."""

    name: str = ""
    downward_metrics: Some | None = None


class InstanceSpec(KubeStruct, frozen=True, kw_only=True):
    """What runs."""

    domain: Domain = Domain()
    architecture: str = ""
    volumes: tuple[Volume, ...] = ()
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None


class Topology(KubeStruct, frozen=True, kw_only=True):
    """What the guest has."""

    sockets: int = 0
    cores: int = 0
    threads: int = 0


class MemoryStatus(KubeStruct, frozen=True, kw_only=True):
    """What the guest had when it started, and has."""

    guest_at_boot: Quantity | None = None
    guest_current: Quantity | None = None


class InstanceStatus(KubeStruct, frozen=True, kw_only=True):
    """How it runs."""

    current_cpu_topology: Topology | None = msgspec.field(default=None, name="currentCPUTopology")
    memory: MemoryStatus | None = None
    conditions: tuple[Condition, ...] = ()


class Instance(KubeStruct, frozen=True, kw_only=True):
    """A machine that runs."""

    metadata: ObjectMeta = ObjectMeta()
    spec: InstanceSpec = InstanceSpec()
    status: InstanceStatus = InstanceStatus()


class Template(KubeStruct, frozen=True, kw_only=True):
    """What is started."""

    spec: InstanceSpec = InstanceSpec()


class Matcher(KubeStruct, frozen=True, kw_only=True):
    """An instancetype by name."""

    name: str = ""


class MachineSpec(KubeStruct, frozen=True, kw_only=True):
    """What is wanted."""

    template: Template = Template()
    instancetype: Matcher | None = None


class VirtualMachine(KubeStruct, frozen=True, kw_only=True):
    """A machine, running or not."""

    metadata: ObjectMeta = ObjectMeta()
    spec: MachineSpec = MachineSpec()
    status: InstanceStatus = InstanceStatus()


# ---- what holds for all machines of a cluster


class LiveUpdate(KubeStruct, frozen=True, kw_only=True):
    """How far machines may grow that do not say so themselves."""

    max_hotplug_ratio: int = 0
    max_cpu_sockets: int | None = None
    max_guest: Quantity | None = None


class Developer(KubeStruct, frozen=True, kw_only=True):
    """What KubeVirt keeps among settings for developers, and operators change."""

    cpu_allocation_ratio: int = 0
    memory_overcommit: int = 0


class Configuration(KubeStruct, frozen=True, kw_only=True):
    """What is not named has KubeVirt's default, which is ours."""

    vm_rollout_strategy: Literal["LiveUpdate", "Stage"] | None = None
    live_update_configuration: LiveUpdate = LiveUpdate()
    developer_configuration: Developer = Developer()
    additional_guest_memory_overhead_ratio: str = ""

    @property
    def settings(self) -> Settings:
        """In our words."""
        update, developer, otherwise = self.live_update_configuration, self.developer_configuration, Settings()
        return Settings(
            rollout_strategy=self.vm_rollout_strategy or otherwise.rollout_strategy,
            max_hotplug_ratio=update.max_hotplug_ratio or otherwise.max_hotplug_ratio,
            max_cpu_sockets=update.max_cpu_sockets or 0,
            max_guest=update.max_guest.value if update.max_guest else 0,
            cpu_allocation_ratio=developer.cpu_allocation_ratio or otherwise.cpu_allocation_ratio,
            memory_overcommit=developer.memory_overcommit or otherwise.memory_overcommit,
            overhead_ratio=float(self.additional_guest_memory_overhead_ratio or 1),
        )


class ClusterSpec(KubeStruct, frozen=True, kw_only=True):
    """Of KubeVirt itself."""

    configuration: Configuration = Configuration()


class KubeVirt(KubeStruct, frozen=True, kw_only=True):
    """The one object of a cluster that says how KubeVirt runs there."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterSpec = ClusterSpec()
