"""Whether a host is fit for what somebody wants to do with it: facts in, one line each out.

A missing thing is a failure only for who needs it: the purposes are ``agent`` (this host is a node), ``vm`` (nodes
are machines on this host) and ``cluster`` (commands talk to a cluster). Every line that is not ok says what to do.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from flexlet.api.units import MIB
from flexlet.core.machine import controllers
from flexlet.core.machine.machine import Machine
from flexlet.errors import ConfigError

Level = Literal["ok", "warn", "fail"]
Purpose = Literal["agent", "vm", "cluster"]
PURPOSES: Final[tuple[Purpose, ...]] = ("agent", "vm", "cluster")

OLDEST_PYTHON: Final = (3, 11)
OLDEST_CLUSTER: Final = (1, 33)
POD_LEVEL: Final = (1, 35)


class Finding(msgspec.Struct, frozen=True):
    """One line: what was looked at, how it is, and what to do about it."""

    check: str
    level: Level
    found: str
    advice: str = ""


def python(version: tuple[int, int, int]) -> Finding:
    """The interpreter."""
    text = ".".join(map(str, version))
    if version[:2] >= OLDEST_PYTHON:
        return Finding("python", "ok", text)
    return Finding("python", "fail", text, "flexlet needs Python 3.11 or newer")


def cgroups(machine: Machine, purposes: Sequence[Purpose]) -> Finding:
    """Whether pods can be held to their sizes here."""
    try:
        controllers.check(machine.cgroups)
    except ConfigError as error:
        return Finding("cgroups", _needed("agent", purposes), "not usable for pods", str(error))
    return Finding("cgroups", "ok", f"v2 with {', '.join(sorted(machine.cgroups.controllers))}")


def runtime(version: str, problem: str, purposes: Sequence[Purpose]) -> Finding:
    """The container runtime of this host."""
    if version:
        return Finding("containers", "ok", version)
    advice = f"{problem}; only a node on this host (`flexlet agent`, `flexlet up --node here`) needs it"
    return Finding("containers", _needed("agent", purposes), "no container runtime", advice)


def root(uid: int, purposes: Sequence[Purpose]) -> Finding:
    """Who we are to the kernel."""
    if uid == 0:
        return Finding("privileges", "ok", "root")
    advice = "only a node on this host needs root; machines and clusters do not"
    return Finding("privileges", _needed("agent", purposes), f"user {uid}", advice)


def qemu(missing: Sequence[str], remedy: Sequence[str], has_kvm: bool, purposes: Sequence[Purpose]) -> Finding:
    """Whether nodes can be machines on this host."""
    if missing:
        advice = f"as root: {'; '.join(remedy)}"
        return Finding("machines", _needed("vm", purposes), f"packages are missing: {', '.join(missing)}", advice)
    if not has_kvm:
        advice = "machines are emulated, which is slow; let this user read and write /dev/kvm, if there is one"
        return Finding("machines", "warn", "QEMU without KVM", advice)
    return Finding("machines", "ok", "QEMU with KVM")


def hotplug(machine: Machine) -> Finding:
    """Whether the kernel of this host can grow while it runs, and who brings new memory online."""
    parts, free = machine.half_plugged, len(machine.possible) - len(machine.cpus)
    cpus = f"{len(machine.cpus)} CPUs, at most {len(machine.possible)}"
    if not machine.block_size:
        text = "this kernel cannot plug memory (CONFIG_MEMORY_HOTPLUG); sizes of this machine's memory are fixed"
        return Finding("hot plug", "warn", cpus, text)
    found = (
        f"{cpus}; memory in blocks of {machine.block_size // MIB}Mi, new ones {machine.auto_online or 'offline'}"
    )
    if parts.offline_cpus or parts.offline_blocks:
        half = [f"CPUs {parts.offline_cpus}"] if parts.offline_cpus else []
        half += [f"{len(parts.offline_blocks)} blocks of memory"] if parts.offline_blocks else []
        advice = (
            f"{' and '.join(half)} are there and offline: an agent brings them online, or echo 1 into 'online'"
        )
        return Finding("hot plug", "warn", found, advice)
    if not free:
        return Finding("hot plug", "ok", f"{found}; as it was started, it takes no more CPUs")
    return Finding("hot plug", "ok", found)


def no_kubeconfig(problem: str, purposes: Sequence[Purpose]) -> Finding:
    """There is no cluster to talk to."""
    return Finding("cluster", _needed("cluster", purposes), "no cluster", problem)


def unreachable(server: str, problem: str) -> Finding:
    """A cluster is named, and it does not answer."""
    advice = f"{problem}; is it running, and are the credentials of the kubeconfig still good?"
    return Finding("cluster", "fail", f"{server} does not answer", advice)


def cluster(server: str, version: str, minor: tuple[int, int]) -> Finding:
    """What the cluster can do."""
    found = f"{server} is Kubernetes {version}"
    if minor < OLDEST_CLUSTER:
        return Finding("cluster", "fail", found, "flexlet needs Kubernetes 1.33 or newer to resize pods in place")
    if minor < POD_LEVEL:
        advice = "containers can be resized; pods as a whole only from Kubernetes 1.35 on"
        return Finding("cluster", "warn", found, advice)
    return Finding("cluster", "ok", found)


def node_sizes(known: bool) -> Finding:
    """Whether the cluster knows wishes for sizes of nodes."""
    if known:
        return Finding("node sizes", "ok", "the cluster knows NodeSize")
    advice = "`flexlet print-manifests | kubectl apply -f -`, then run `flexlet controllers`"
    return Finding("node sizes", "warn", "the cluster does not know NodeSize", advice)


def balloons(limiting: Sequence[str]) -> Finding:
    """Whether something in their namespace may refuse balloons their size."""
    if not limiting:
        return Finding("balloons", "ok", "nothing in their namespace is in their way")
    advice = (
        "an inflate may be refused by it; exempt the namespace, or give a quota a scope of PriorityClass,"
        " or keep balloons elsewhere (--balloon-namespace)"
    )
    return Finding("balloons", "warn", f"limited by {', '.join(limiting)}", advice)


def starting(shut_out: Sequence[str]) -> Finding:
    """Who does not run on a node that waits for its balloon."""
    if not shut_out:
        return Finding("start-up taint", "ok", "every DaemonSet tolerates flexlet.io/balloon-pending")
    advice = "if nodes register with flexlet.io/balloon-pending, these come when the balloon has its size"
    return Finding("start-up taint", "ok", f"not tolerated by {', '.join(shut_out)}", advice)


def _needed(purpose: Purpose, purposes: Sequence[Purpose]) -> Level:
    return "fail" if purpose in purposes else "warn"
