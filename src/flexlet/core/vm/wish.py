"""What of a virtual machine the size of its pod depends on, with nothing left open."""

from typing import Literal

import msgspec

from flexlet.core.vm.objects import LimitPolicy, OverheadModel


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes, and all else that the size of the pod depends on; bytes and milli-CPUs."""

    sockets: int
    cores: int = 1
    threads: int = 1
    max_sockets: int
    min_memory: int
    memory: int
    max_memory: int
    page_size: int = 0
    """Bytes of a huge page; 0: ordinary pages."""
    page_name: str = ""
    """As the resource hugepages-NAME has it."""
    architecture: str = "amd64"
    is_dedicated: bool = False
    has_emulator_thread: bool = False
    io_threads: int = 0
    """Of the supplemental pool; FlexVMs have none, machines of KubeVirt may."""
    limit_policy: LimitPolicy = "None"
    cpu_request_m: int | None = None
    cpu_limit_m: int | None = None
    memory_request: int | None = None
    memory_limit: int | None = None
    is_overhead_overcommitted: bool = False
    overhead_model: OverheadModel = "kubevirt"
    has_page_tables: bool = True
    """Whether the overhead counts them; KubeVirt forgets to for machines that name no request of memory."""
    added_overhead: int = 0
    mem_lock: Literal["", "Required", "NotRequired"] = ""
    has_graphics: bool = False
    has_vfio: bool = False
    has_tpm: bool = False
    is_encrypted: bool = False
    has_downward_metrics: bool = False
    exec_probes: int = 0
    binding_memory: int = 0
    """What network bindings declare to need."""

    @property
    def per_socket(self) -> int:
        """How many vCPUs one socket has."""
        return self.cores * self.threads

    @property
    def vcpus(self) -> int:
        """How many vCPUs there shall be."""
        return self.sockets * self.per_socket

    @property
    def max_vcpus(self) -> int:
        """How many there can be."""
        return self.max_sockets * self.per_socket

    @property
    def is_guaranteed(self) -> bool:
        """Whether the pod's class shall be Guaranteed: dedicated CPUs, or amounts that say so."""
        asked = (self.cpu_request_m, self.memory_request)
        return self.is_dedicated or (asked == (self.cpu_limit_m, self.memory_limit) and None not in asked)
