"""A pod with a bit of everything, as flexlet says it and as the wire does."""

from typing import Any

from google.protobuf import text_format

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.api.units import Bytes, CpuShares, Microseconds
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import (
    BIDIRECTIONAL,
    ContainerConfig,
    ContainerSecurity,
    Device,
    Dns,
    IdMapping,
    ImageSource,
    Mount,
    Namespaces,
    PortMapping,
    SandboxConfig,
    SandboxSecurity,
    SecurityProfile,
    SelinuxOptions,
)

PLAIN = SandboxConfig(name="p", uid="u1", namespace="ns")
PLAIN_RESOURCES = RuntimeResources(cpu_shares=CpuShares(2), cpu_period=Microseconds(100000))

RESOURCES = RuntimeResources(
    cpu_shares=CpuShares(204),
    cpu_quota=Microseconds(20000),
    cpu_period=Microseconds(100000),
    memory_limit=Bytes(64 << 20),
    oom_score_adj=-997,
    hugepage_limits={"2MB": 4 << 20, "1GB": 0},
    cpuset_cpus="1-2",
    cpuset_mems="0",
    unified={"memory.oom.group": "1"},
)
OVERHEAD = RuntimeResources(cpu_shares=CpuShares(256), memory_limit=Bytes(1 << 20))
MAPPING = (IdMapping(65536, 0, 65536),)
NAMESPACES = Namespaces(
    network="NODE", pid="POD", ipc="NODE", target_id="t", user_mode="POD", user_ids=MAPPING, group_ids=MAPPING
)

FULL = SandboxConfig(
    name="web",
    uid="u1",
    namespace="ns",
    attempt=3,
    hostname="web",
    log_directory="/var/log/pods/ns_web_u1",
    dns=Dns(servers=("10.0.0.10",), searches=("svc.cluster.local",), options=("ndots:5",)),
    ports=(PortMapping(container_port=80, host_port=8080, protocol="UDP", host_ip="10.0.0.1"),),
    labels={"io.kubernetes.pod.uid": "u1"},
    annotations={"a": "b"},
    cgroup_parent="/kubepods/podu1",
    sysctls={"net.ipv4.ip_forward": "1"},
    security=SandboxSecurity(
        namespaces=NAMESPACES,
        selinux=SelinuxOptions(user="u", role="r", type="t", level="s0"),
        run_as_user=0,
        run_as_group=5,
        readonly_rootfs=True,
        supplemental_groups=(1, 2),
        supplemental_groups_policy="Strict",
        privileged=True,
        apparmor=SecurityProfile("Localhost", "prof"),
    ),
    resources=RESOURCES,
    overhead=OVERHEAD,
)

CONTAINER = ContainerConfig(
    name="c",
    attempt=2,
    image="busybox",
    image_ref="sha256:abc",
    command=("sh",),
    args=("-c", "true"),
    working_dir="/srv",
    envs=(("A", "ä"), ("B", "")),
    mounts=(
        Mount(container_path="/etc/hosts", host_path="/h"),
        Mount(
            container_path="/m",
            host_path="/n",
            readonly=True,
            recursive_read_only=True,
            selinux_relabel=True,
            propagation=BIDIRECTIONAL,
            user_ids=MAPPING,
            group_ids=MAPPING,
        ),
        Mount(
            container_path="/i",
            readonly=True,
            image=ImageSource(ref="sha256:v", name="v:1", handler="h", annotations={"a": "b"}, sub_path="d"),
        ),
    ),
    devices=(Device(container_path="/dev/a", host_path="/dev/b"),),
    labels={"l": "1"},
    annotations={"n": "2"},
    log_path="c/2.log",
    stdin=True,
    stdin_once=True,
    tty=True,
    stop_signal="SIGRTMIN+1",
    resources=RESOURCES,
    security=ContainerSecurity(
        namespaces=NAMESPACES,
        selinux=SelinuxOptions(level="s1"),
        run_as_user=1000,
        run_as_username="me",
        run_as_group=0,
        readonly_rootfs=True,
        supplemental_groups=(7,),
        privileged=True,
        add_capabilities=("NET_ADMIN",),
        drop_capabilities=("ALL",),
        no_new_privs=True,
        masked_paths=("/proc/acpi",),
        readonly_paths=("/proc/bus",),
        seccomp=SecurityProfile("Localhost", "/s.json"),
        apparmor=SecurityProfile("RuntimeDefault"),
    ),
)

_NAMESPACES = """{
  network: NODE pid: POD ipc: NODE target_id: "t"
  userns_options {
    uids { host_id: 65536 length: 65536 }
    gids { host_id: 65536 length: 65536 }
  }
}"""
_RESOURCES = """{
  cpu_period: 100000 cpu_quota: 20000 cpu_shares: 204 memory_limit_in_bytes: 67108864 oom_score_adj: -997
  cpuset_cpus: "1-2" cpuset_mems: "0"
  hugepage_limits { page_size: "2MB" limit: 4194304 } hugepage_limits { page_size: "1GB" }
  unified { key: "memory.oom.group" value: "1" }
}"""

FULL_TEXT = f"""
metadata {{ name: "web" uid: "u1" namespace: "ns" attempt: 3 }}
hostname: "web"
log_directory: "/var/log/pods/ns_web_u1"
dns_config {{ servers: "10.0.0.10" searches: "svc.cluster.local" options: "ndots:5" }}
port_mappings {{ protocol: UDP container_port: 80 host_port: 8080 host_ip: "10.0.0.1" }}
labels {{ key: "io.kubernetes.pod.uid" value: "u1" }}
annotations {{ key: "a" value: "b" }}
linux {{
  cgroup_parent: "/kubepods/podu1"
  security_context {{
    namespace_options {_NAMESPACES}
    selinux_options {{ user: "u" role: "r" type: "t" level: "s0" }}
    run_as_user {{ }}
    run_as_group {{ value: 5 }}
    readonly_rootfs: true
    supplemental_groups: 1
    supplemental_groups: 2
    supplemental_groups_policy: Strict
    privileged: true
    seccomp {{ }}
    apparmor {{ profile_type: Localhost localhost_ref: "prof" }}
  }}
  sysctls {{ key: "net.ipv4.ip_forward" value: "1" }}
  overhead {{ cpu_shares: 256 memory_limit_in_bytes: 1048576 }}
  resources {_RESOURCES}
}}
"""

CONTAINER_TEXT = f"""
metadata {{ name: "c" attempt: 2 }}
image {{ image: "sha256:abc" user_specified_image: "busybox" }}
command: "sh" args: "-c" args: "true"
working_dir: "/srv"
envs {{ key: "A" value: "\\303\\244" }} envs {{ key: "B" }}
mounts {{ container_path: "/etc/hosts" host_path: "/h" }}
mounts {{
  container_path: "/m" host_path: "/n" readonly: true recursive_read_only: true selinux_relabel: true
  propagation: PROPAGATION_BIDIRECTIONAL
  uidMappings {{ host_id: 65536 length: 65536 }} gidMappings {{ host_id: 65536 length: 65536 }}
}}
mounts {{
  container_path: "/i" readonly: true image_sub_path: "d"
  image {{
    image: "sha256:v" user_specified_image: "v:1" runtime_handler: "h" annotations {{ key: "a" value: "b" }}
  }}
}}
devices {{ container_path: "/dev/a" host_path: "/dev/b" permissions: "rwm" }}
labels {{ key: "l" value: "1" }}
annotations {{ key: "n" value: "2" }}
log_path: "c/2.log"
stdin: true stdin_once: true tty: true stop_signal: SIGRTMINPLUS1
linux {{
  resources {_RESOURCES}
  security_context {{
    capabilities {{ add_capabilities: "NET_ADMIN" drop_capabilities: "ALL" }}
    privileged: true
    namespace_options {_NAMESPACES}
    selinux_options {{ level: "s1" }}
    run_as_user {{ value: 1000 }}
    run_as_username: "me"
    run_as_group {{ }}
    readonly_rootfs: true
    supplemental_groups: 7
    no_new_privs: true
    masked_paths: "/proc/acpi"
    readonly_paths: "/proc/bus"
    seccomp {{ profile_type: Localhost localhost_ref: "/s.json" }}
    apparmor {{ }}
  }}
}}
"""

PLAIN_TEXT = """
metadata { name: "p" uid: "u1" namespace: "ns" }
linux {
  security_context {
    namespace_options { pid: CONTAINER userns_options { mode: NODE } }
    seccomp { }
  }
}
"""


def message(kind: type[Any], text: str) -> Any:
    """A message from its text form."""
    return text_format.Parse(text, kind())


FULL_MESSAGE = message(pb.PodSandboxConfig, FULL_TEXT)
PLAIN_MESSAGE = message(pb.PodSandboxConfig, PLAIN_TEXT)
CONTAINER_MESSAGE = message(pb.ContainerConfig, CONTAINER_TEXT)
RESOURCES_MESSAGE = message(pb.LinuxContainerResources, _RESOURCES[1:-1])
