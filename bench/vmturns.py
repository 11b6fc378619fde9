"""One machine, one containerd, and two programs that are its node in turn: kubelet and flexlet agent.

The guest's init starts whatever ``AGENT`` in /etc/flexlet/node.env says, again a second after it ended. So a turn
begins by writing another line there and ending the one who runs. Each keeps its books in a directory of its own.
"""

import contextlib
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import msgspec

from bench.controlplane import BIN, VERSION, ControlPlane
from flexlet.adapters.clock import SystemClock
from flexlet.adapters.guest.client import Guest
from flexlet.apps import vmnode
from flexlet.apps.lab import Machine, running
from flexlet.core.lab.spec import MachineSpec
from flexlet.ports.cluster import Cluster

NODE: Final = "localhost"
KUBELET: Final = "kubelet"
FLEXLET: Final = "flexlet"
PROGRAM: Final = BIN / f"kubelet-{VERSION}"
_ETC: Final = vmnode.CONFIG_DIRECTORY
_TICKS_PER_S: Final = 100
_PAGE: Final = 4096
_FLAGS: Final = (
    f"--kubeconfig={_ETC}/kubeconfig --config={_ETC}/config.yaml --root-dir=/var/lib/bench/{{0}} --node-ip="
    f"{vmnode.GUEST_ADDRESS}"
)
_COMMANDS: Final = {
    KUBELET: f"{_ETC}/kubelet --hostname-override={NODE} {_FLAGS.format(KUBELET)}",
    FLEXLET: f"flexlet agent --node-name={NODE} {_FLAGS.format(FLEXLET)}",
}
END: Final = """
before=$(cat /sys/fs/cgroup/system/agent/cgroup.procs)
kill $before
for pid in $before; do while [ -d /proc/$pid ]; do usleep 100000; done; done
"""
"""Ends who runs now, and waits until it is gone; the guest's init starts it again a second later."""
_SWITCH: Final = f"""
mkdir -p /var/lib/bench/kubelet /var/lib/bench/flexlet
chmod 700 /etc/flexlet/kubelet
{END}
sleep 1
"""
"""The second at the end keeps what the one before said last apart from what its successor says."""
_STATS: Final = "for pid in $(cat /sys/fs/cgroup/system/agent/cgroup.procs); do cat /proc/$pid/stat; done"


class Usage(msgspec.Struct, frozen=True):
    """What a process has used and holds."""

    pid: int
    cpu_s: float
    resident: int


@contextlib.asynccontextmanager
async def booted(control_plane: ControlPlane, data: Path) -> AsyncIterator[Machine]:
    """A machine that nobody is the node of yet; kubelet is in it."""
    port = vmnode.free_port()
    runtime = {"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock"}
    files = vmnode.config_files(
        NODE,
        control_plane.node_kubeconfig(NODE, vmnode.HOST_SEEN_FROM_GUEST),
        control_plane.ca,
        vmnode.kubelet_configuration(port, runtime),
    )
    files["node.env"] += b"AGENT=\n"
    files["kubelet"] = PROGRAM.read_bytes()
    async with running(MachineSpec("bench"), files, {port: port}, _silent, data=data) as machine:
        yield machine


async def take_turn(guest: Guest, who: str, cluster: Cluster, flags: str = "") -> None:
    """Let `who` be the node, with more flags if given, and wait until it says that it is ready."""
    env = await guest.read_file(f"{_ETC}/node.env")
    command = f"{_COMMANDS[who]} {flags}".strip()
    await guest.write_file(f"{_ETC}/node.env", env + f"AGENT={shlex.quote(command)}\n".encode(), 0o600)
    await guest.run(["sh", "-c", _SWITCH])
    await vmnode.ready(cluster, NODE, SystemClock())


async def usage(guest: Guest) -> Usage:
    """Of the node's program: the largest process of its service."""
    done = await guest.run(["sh", "-c", _STATS])
    return max((_usage(line) for line in done.stdout.decode().splitlines()), key=lambda each: each.resident)


def _usage(stat: str) -> Usage:
    """A line of /proc/PID/stat; the program's name, in brackets, may hold anything."""
    before, _, after = stat.rpartition(")")
    fields = after.split()
    ticks = int(fields[11]) + int(fields[12])
    return Usage(int(before.split()[0]), ticks / _TICKS_PER_S, int(fields[21]) * _PAGE)


def _silent(_: str) -> None:
    """Nobody asks how the machine comes up."""
