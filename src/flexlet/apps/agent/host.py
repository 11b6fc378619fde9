"""What this host is and allows: checks before the start, small settings, facts that no port is for."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flexlet.core.cgroups.root import reserved_values
from flexlet.core.cgroups.values import files
from flexlet.core.kubeletconfig import reservations, uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.errors import ConfigError, HostError
from flexlet.ports.cgroups import CgroupTree

PROC: Final = Path("/proc")

log: Final = logging.getLogger(__name__)


def require(config: KubeletConfiguration, proc: Path = PROC) -> None:
    """ConfigError, saying what to do, if the host is not as the configuration wants it."""
    if config.fail_swap_on and _swaps(proc):
        raise ConfigError(
            f"swap is on ({', '.join(_swaps(proc))}), and failSwapOn is true: switch it off with `swapoff -a`, or "
            "set failSwapOn false"
        )


def set_oom_score(score: int, proc: Path = PROC) -> None:
    """How willingly the kernel kills the agent when memory runs out; not everybody may lower it."""
    try:
        (proc / "self/oom_score_adj").write_text(str(score))
    except OSError as error:
        log.warning("cannot set oomScoreAdj %d of the agent: %s; start it as root", score, error.strerror or error)


async def enforce_reservations(config: KubeletConfiguration, cgroups: CgroupTree) -> None:
    """Hold the daemons of the system and of Kubernetes to what is reserved for them, if that is asked for."""
    kept, settings = uses.reservation(config), uses.cgroup_settings(config)
    for names, cgroup, reserved in (
        (reservations.SYSTEM, config.system_reserved_cgroup, kept.system),
        (reservations.KUBE, config.kube_reserved_cgroup, kept.kube),
    ):
        whole, compressible = (name in config.enforce_node_allocatable for name in names)
        if not whole and not compressible:
            continue
        path = cgroup.strip("/")
        if not path or not await cgroups.exists(path):
            raise ConfigError(
                f"cannot enforce {names[0]}: there is no cgroup {cgroup}; make it, or start those daemons in it"
            )
        try:
            await cgroups.write(path, files(reserved_values(reserved, settings, compressible_only=compressible)))
        except HostError as error:
            raise ConfigError(f"cannot enforce {names[0]} on {cgroup}: {error}") from error


def routed() -> tuple[str, ...]:
    """The address on the way to everywhere else; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ()
        return (str(probe.getsockname()[0]),)


def throttles() -> tuple[str, ...]:
    """Files that tell of throttling, hidden from containers."""
    found = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle")
    return tuple(sorted(str(path) for path in found))


def has_apparmor() -> bool:
    """Whether the kernel enforces profiles."""
    return text(Path("/sys/module/apparmor/parameters/enabled"), quiet=True).startswith("Y")


def text(path: Path, *, quiet: bool = False) -> str:
    """A file's text, empty if it cannot be read."""
    try:
        return path.read_text()
    except OSError as error:
        if not quiet:
            log.warning("cannot read %s: %s", path, error.strerror)
        return ""


def same_filesystem(one: Path, other: Path) -> bool:
    """Whether two places lie on one disk; what cannot be looked at is taken to."""
    try:
        return one.stat().st_dev == other.stat().st_dev
    except OSError:
        return True


def _swaps(proc: Path) -> tuple[str, ...]:
    return tuple(_names(text(proc / "swaps", quiet=True)))


def _names(table: str) -> Iterator[str]:
    """Of the devices below the head line."""
    for line in table.splitlines()[1:]:
        if line.strip():
            yield line.split()[0]
