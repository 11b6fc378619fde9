"""Whether this host can be a node: cgroup v2, and the controllers that resources are made of."""

from pathlib import Path
from typing import Final

from flexlet.errors import ConfigError

MOUNT_POINT: Final = Path("/sys/fs/cgroup")
NEEDED: Final = ("cpu", "memory")
"""Without these no request and no limit means anything; the other controllers may be missing."""

_REMEDY: Final = (
    "boot with systemd.unified_cgroup_hierarchy=1 (and without systemd.legacy_systemd_cgroup_controller) on the "
    "kernel command line, or with cgroup_no_v1=all where there is no systemd"
)


def require_cgroup2(root: Path = MOUNT_POINT) -> None:
    """Raise ConfigError, saying what to do, unless `root` is a cgroup v2 tree that flexlet can use."""
    try:
        controllers = (root / "cgroup.controllers").read_text().split()
    except OSError as error:
        raise ConfigError(_no_tree(root)) from error
    missing = [name for name in NEEDED if name not in controllers]
    if missing:
        raise ConfigError(
            f"the cgroup v2 tree at {root} lacks {' and '.join(missing)}: cgroup v1 has taken the controller, or "
            f"it was not handed down to this cgroup namespace; {_REMEDY}"
        )


def _no_tree(root: Path) -> str:
    if (root / "unified" / "cgroup.controllers").exists():
        return f"this host uses cgroup v1 beside v2 (hybrid), flexlet needs cgroup v2 alone at {root}: {_REMEDY}"
    if any((root / name).is_dir() for name in NEEDED):
        return f"this host uses cgroup v1, flexlet needs cgroup v2 at {root}: {_REMEDY}"
    return f"no cgroup v2 tree at {root}: mount one with `mount -t cgroup2 cgroup2 {root}`"
