"""A node in a virtual machine: what the guest is told, and when the node counts as there.

The guest reaches this host's loopback as 10.0.2.2 and is itself 10.0.2.15; its endpoint has the same port number
inside and outside, so that what the Node object says is true on both sides.
"""

import asyncio
import shlex
import socket
import ssl
from pathlib import Path
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
LOOPBACK: Final = "127.0.0.1"
CERTIFIED: Final[dict[str, Any]] = {"serverTLSBootstrap": True}
"""What a node needs to be spoken to: flexlet's API server approves and signs its request by itself."""
_LOOK_S: Final = 0.2
_SERVES_S: Final = 20.0
_ATTEMPT_S: Final = 5.0


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kubelet_configuration(port: int, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """How a node in the lab behaves: small reserves, everybody known by certificate or token."""
    return {
        **known_by(Path(CONFIG_DIRECTORY, "ca.crt")),
        "address": "0.0.0.0",  # noqa: S104 inside the guest; outside only the host's loopback leads to it
        "port": port,
        "evictionHard": {"memory.available": "50Mi"},
        "failSwapOn": False,
        **(more or {}),
    }


def known_by(authority: Path) -> dict[str, Any]:
    """A KubeletConfiguration of a node that lets in whom the authority, or the API server, says it knows."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
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


async def serves(port: int, clock: Clock) -> None:
    """Wait until the node's endpoint has its certificate, though not for ever: a node is one without logs too."""
    deadline = clock.monotonic() + _SERVES_S
    while not await _shakes_hands(port) and clock.monotonic() < deadline:
        await clock.sleep(_LOOK_S)


async def _shakes_hands(port: int) -> bool:
    """Whether there is a certificate; whose it is matters to those who send something."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(_ATTEMPT_S):
            _, writer = await asyncio.open_connection(LOOPBACK, port, ssl=context)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


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
