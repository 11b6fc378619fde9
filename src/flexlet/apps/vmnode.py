"""A node in a virtual machine: what the guest is told, and when the node counts as there.

The guest reaches this host's loopback as 10.0.2.2 and is itself 10.0.2.15; its endpoint has the same port number
inside and outside, so that what the Node object says is true on both sides.
"""

import shlex
import socket
from typing import Any, Final

import msgspec

from flexlet.api import age
from flexlet.api.status import NotFound
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NODES, Cluster

HOST_SEEN_FROM_GUEST: Final = "10.0.2.2"
GUEST_ADDRESS: Final = "10.0.2.15"
POD_CIDR: Final = "10.88.0.0/24"
CONFIG_DIRECTORY: Final = "/etc/flexlet"
_LOOK_S: Final = 0.2


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kubelet_configuration(port: int, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """How a node in the lab behaves: small reserves, everybody known by certificate or token."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "0.0.0.0",  # noqa: S104 inside the guest; outside only the host's loopback leads to it
        "port": port,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{CONFIG_DIRECTORY}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "evictionHard": {"memory.available": "50Mi"},
        "failSwapOn": False,
        **(more or {}),
    }


def config_files(
    name: str, kubeconfig: bytes, ca: bytes, configuration: dict[str, Any], gates: str = "", resize: bytes = b""
) -> dict[str, bytes]:
    """What the guest finds in /etc/flexlet; `resize` is a NodeResizeConfiguration, empty for none."""
    command = [
        *("flexlet", "agent", "--verbose"),
        *("--kubeconfig", f"{CONFIG_DIRECTORY}/kubeconfig"),
        *("--config", f"{CONFIG_DIRECTORY}/config.yaml"),
        *("--node-name", name),
        *("--node-ip", GUEST_ADDRESS),
        *(("--feature-gates", gates) if gates else ()),
        *(("--node-resize-config", f"{CONFIG_DIRECTORY}/resize.yaml") if resize else ()),
    ]
    env = {"NODE_NAME": name, "HOSTNAME": name, "POD_CIDR": POD_CIDR, "AGENT": shlex.join(command)}
    return {
        "node.env": "".join(f"{key}={shlex.quote(value)}\n" for key, value in env.items()).encode(),
        "kubeconfig": kubeconfig,
        "config.yaml": msgspec.json.encode(configuration),
        "ca.crt": ca,
        **({"resize.yaml": resize} if resize else {}),
    }


async def ready(cluster: Cluster, name: str, clock: Clock) -> None:
    """Wait until the node says of itself that it is ready; what it said before now does not count."""
    since = age.format_seconds(clock.now())
    while not await _is_ready(cluster, name, since):
        await clock.sleep(_LOOK_S)


async def _is_ready(cluster: Cluster, name: str, since: str) -> bool:
    try:
        node = msgspec.json.decode(await cluster.get(NODES, "", name))
    except NotFound:
        return False
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(
        each["type"] == "Ready" and each["status"] == "True" and each.get("lastHeartbeatTime", "") >= since
        for each in conditions
    )
