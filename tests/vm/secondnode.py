"""A second node in the machine of the first one, as docs/howto/share-a-host.md describes it.

It has a container runtime, a root directory, a port and a cgroup namespace of its own, and half of the machine.
Its pods are on the same bridge as those of the first, so that machines can be moved between them. A second machine
would say the same, minutes later. It ends with the machine.
"""

import base64
import time
from typing import Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tests.vm.node import Hands, Node, condition, eventually

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.qemu.monitor import Monitor
from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.kubeconfig import kubeconfig as text_for
from flexlet.apps import vmnode
from flexlet.ports.cluster import NODES

NAME: Final = "second"
REACHED: Final = ("--node-host", f"{NAME}={vmnode.LOOPBACK}")
"""How the API server is told where it finds it."""
_SECOND: Final = "second"
_HOME: Final = f"/var/lib/{_SECOND}"
_LOG: Final = f"/var/log/{_SECOND}.log"
_ENDED: Final = "the second node has ended"
_LOOK_S: Final = 3.0
# Layers are never written to, databases are.
_PREPARE: Final = f"""set -e
mkdir -p {_HOME}/kubelet {_HOME}/pods /var/log/pods /var/lib/kubelet
rm -rf {_HOME}/containerd
cp -al /var/lib/containerd {_HOME}/containerd
find {_HOME}/containerd -name '*.db' | while read -r file; do cp "$file" "$file.own"; mv "$file.own" "$file"; done
mkdir -p /sys/fs/cgroup/{_SECOND}
"""
_INSIDE: Final = f"""set -e
umount /sys/fs/cgroup
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/system
echo $$ >/sys/fs/cgroup/system/cgroup.procs
echo $OUTER >/sys/fs/cgroup/system/cgroup.procs
for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
  echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
done
mount --bind {_HOME}/containerd /var/lib/containerd
mount --bind {_HOME}/kubelet /var/lib/kubelet
mount --bind {_HOME}/pods /var/log/pods
mount -t tmpfs run /run/containerd
mount --make-rshared /
export PATH=/opt/flexlet/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONPATH=/opt/flexlet/site
containerd --config /opt/flexlet/guest/containerd.toml &
exec flexlet agent --verbose --kubeconfig {_HOME}/kubeconfig --config {_HOME}/config.yaml \\
  --node-name {NAME} --node-ip {vmnode.GUEST_ADDRESS} --share 2/2
"""


async def prepare(hands: Hands) -> None:
    """Give it a runtime with the images of the first, while no pods come and go there."""
    await hands.inside(_PREPARE)


async def start(node: Node, hands: Hands) -> None:
    """Bring it up, and wait until it is ready."""
    port = vmnode.free_port()
    await _forward(node, port)
    await _place(hands, f"{_HOME}/kubeconfig", _kubeconfig(node))
    # Nobody asks whether it is well, and the port for that is taken.
    config = vmnode.kubelet_configuration(port, {"healthzPort": 0, **vmnode.CERTIFIED})
    await _place(hands, f"{_HOME}/config.yaml", msgspec.json.encode(config).decode())
    await _place(hands, f"{_HOME}/inside", _INSIDE)
    # A cgroup namespace begins where the process is that asks for it.
    inside = f"OUTER=$$ unshare --mount --cgroup sh {_HOME}/inside; echo {_ENDED}"
    enter = f"echo $$ >/sys/fs/cgroup/{_SECOND}/cgroup.procs; {inside}"
    await hands.inside(f"setsid sh -c '{enter}' </dev/null >{_LOG} 2>&1 &")
    try:
        await eventually(lambda: _is_ready(hands), look_s=_LOOK_S)
    except TimeoutError:
        raise AssertionError(await hands.inside(f"tail -n 40 {_LOG}")) from None


async def _is_ready(hands: Hands) -> bool:
    said = await hands.inside(f"tail -n 40 {_LOG}")
    assert _ENDED not in said, said
    return condition(await hands.get(NAME, NODES), "Ready") == "True"


async def _forward(node: Node, port: int) -> None:
    """The API server reaches it as it reaches the first: by a port of the host."""
    monitor = Monitor(node.vm.directory.monitors[1])
    try:
        rule = f"hostfwd_add net0 tcp:127.0.0.1:{port}-:{port}"
        said = await monitor.execute("human-monitor-command", {"command-line": rule})
        assert said == "", said
    finally:
        await monitor.close()


def _kubeconfig(node: Node) -> str:
    """The node's own, as the machine reaches the host."""
    credentials = kubeconfig.load(node.kubeconfig)
    port = credentials.server.rpartition(":")[2]
    pem = (node.kubeconfig.parent / "pki" / "ca.pem").read_bytes()
    key = load_pem_private_key(pem[pem.index(b"-----BEGIN PRIVATE KEY-----") :], password=None)
    assert isinstance(key, EllipticCurvePrivateKey)
    authority = certificates.Credential(x509.load_pem_x509_certificate(pem), key)
    user = f"system:node:{NAME}"
    pair = certificates.issue_client(authority, user, ("system:nodes",), time.time(), 1)
    url = f"https://{vmnode.HOST_SEEN_FROM_GUEST}:{port}"
    return text_for(url, authority.certificate_pem.decode(), user, pair)


async def _place(hands: Hands, path: str, text: str) -> None:
    data = base64.b64encode(text.encode()).decode()
    await hands.inside(f"mkdir -p {_HOME} && echo {data} | base64 -d >{path}")
