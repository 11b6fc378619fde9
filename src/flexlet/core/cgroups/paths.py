"""Where a pod's cgroup lies in the tree.

Guaranteed pods sit directly under kubepods, the others in the tier of their class. The systemd driver nests slices
whose names repeat their ancestors, and turns the dashes of a UID into underscores since a dash means nesting.
"""

from typing import Final

from flexlet.api.units import PodUid
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE, GUARANTEED

CGROUPFS: Final = "cgroupfs"
SYSTEMD: Final = "systemd"
ROOT: Final = "kubepods"

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


def _path(parts: tuple[str, ...], driver: str) -> str:
    if driver != SYSTEMD:
        return "/".join(parts)
    escaped = [part.replace("-", "_") for part in parts]
    return "/".join("-".join(escaped[: depth + 1]) + ".slice" for depth in range(len(escaped)))
