"""Where a pod's cgroup lies in the tree.

Guaranteed pods sit directly under kubepods, the others in the tier of their class. The systemd driver nests slices
whose names repeat their ancestors, and turns the dashes of a UID into underscores since a dash means nesting.
"""

import re
from collections.abc import Iterable
from typing import Final

from flexlet.api.units import PodUid
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED

CGROUPFS: Final = "cgroupfs"
SYSTEMD: Final = "systemd"
ROOT: Final = "kubepods"

_UID: Final = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Of a pod of the API, or of one from a file."""
_MONITOR: Final = "conmon"
_TIERS: Final[dict[str, tuple[str, ...]]] = {
    GUARANTEED: (),
    BURSTABLE: ("burstable",),
    BEST_EFFORT: ("besteffort",),
}


def tier_path(qos: str, driver: str = CGROUPFS) -> str:
    """The cgroup of a QoS class, relative to the mount point; that of Guaranteed is kubepods itself."""
    return _path((ROOT, *_TIERS[qos]), driver)


def pod_path(qos: str, uid: PodUid, driver: str = CGROUPFS) -> str:
    """The cgroup of a pod, relative to the mount point."""
    return _path((ROOT, *_TIERS[qos], f"pod{uid}"), driver)


def pod_of(name: str) -> PodUid | None:
    """The pod whose cgroup has this name, the last part of its path; None if it is no pod's."""
    _, found, uid = name.removesuffix(".slice").rpartition("pod")
    plain = uid.replace("_", "-")
    return PodUid(plain) if found and _UID.fullmatch(plain) else None


def name_of(identity: str, names: Iterable[str]) -> str:
    """Which of the cgroups below a pod's the runtime has made for a container or sandbox; empty if none.

    Runtimes name them after the id: ``<id>``, ``crio-<id>``, ``cri-containerd-<id>.scope``, ``crio-<id>.scope``.
    What CRI-O runs beside a container to watch it is not the container.
    """
    for name in names:
        prefix, found, after = name.removesuffix(".scope").rpartition(identity)
        if found and not after and (not prefix or prefix.endswith("-")) and _MONITOR not in prefix:
            return name
    return ""


def _path(parts: tuple[str, ...], driver: str) -> str:
    if driver != SYSTEMD:
        return "/".join(parts)
    escaped = [part.replace("-", "_") for part in parts]
    return "/".join("-".join(escaped[: depth + 1]) + ".slice" for depth in range(len(escaped)))
