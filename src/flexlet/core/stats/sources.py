"""What is to be measured: the pods that run, where their cgroups lie, and the machine under them."""

import msgspec


class ContainerSource(msgspec.Struct, frozen=True, kw_only=True):
    """A running container."""

    name: str
    id: str
    cgroup: str
    """Relative to the mount point."""
    image: str = ""
    started_at: float = 0.0
    log_directory: str = ""
    """Where its log and the rotated ones lie; empty if nobody knows."""
    rootfs_bytes: int | None = None
    """What its writable layer takes, if the runtime told."""
    rootfs_inodes: int | None = None


class VolumeSource(msgspec.Struct, frozen=True, kw_only=True):
    """A volume whose size matters, and where it is mounted."""

    name: str
    path: str
    is_ephemeral: bool = True
    """Whether it lies on the node's own disk and counts as the pod's ephemeral storage."""


class PodSource(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with a sandbox."""

    namespace: str
    name: str
    uid: str
    cgroup: str
    started_at: float = 0.0
    host_network: bool = False
    containers: tuple[ContainerSource, ...] = ()
    volumes: tuple[VolumeSource, ...] = ()


class MachineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/metrics/cadvisor`` tells of the machine."""

    cpus: int = 0
    memory_bytes: int = 0
    swap_bytes: int = 0
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel_version: str = ""
    os_image: str = ""


class NodeSource(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to measure on a node."""

    name: str
    pods: tuple[PodSource, ...] = ()
    machine: MachineFacts = MachineFacts()
    pods_cgroup: str = "kubepods"
    """The cgroup of all pods together."""
    data_directory: str = "/var/lib/kubelet"
    """Lies on the node's file system."""
