"""Kernel parameters that a pod sets for its namespaces: how they are written, and which ones a node allows.

Safe ones concern nobody but the pod and are always allowed; others only if the node's configuration names them, by
name or by a pattern that ends in a star. One of a namespace that the pod shares with the host is refused.
Follows the kubelet of Kubernetes 1.36 on kernels from 4.15 on.
"""

from collections.abc import Iterable
from typing import Final

from flexlet.api.nodepod import NodePod

SAFE: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
_NET: Final = "Net"
_IPC: Final = "IPC"
_SWAP: Final = str.maketrans("./", "/.")


def dotted(name: str) -> str:
    """The name with dots between its parts; one that begins with a slash has dots inside parts."""
    first = next((character for character in name if character in "./"), ".")
    return name if first == "." else name.translate(_SWAP)


def refusal(pod: NodePod, unsafe: Iterable[str]) -> str:
    """Why the node does not set what the pod asks for; empty if it does."""
    allowed = (*SAFE, *(dotted(each) for each in unsafe))
    for each in pod.spec.security_context.sysctls:
        name = dotted(each.name)
        if not any(_covers(pattern, name) for pattern in allowed):
            return f'"{name}" not allowlisted'
        space = _namespace(name)
        if (space == _NET and pod.spec.host_network) or (space == _IPC and pod.spec.host_ipc):
            return f'"{name}" not allowed with host {space} enabled'
    return ""


def _covers(pattern: str, name: str) -> bool:
    prefix, star, _ = pattern.partition("*")
    return name.startswith(prefix) if star else name == pattern


def _namespace(name: str) -> str:
    return _NET if name.startswith("net.") else _IPC
