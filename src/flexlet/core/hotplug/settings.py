"""How a node reacts to hot plug and hot unplug; the names are those of flexlet's own configuration."""

from typing import Literal

import msgspec

from flexlet.api.units import Bytes

Order = Literal["priority", "creation"]
CpuRule = Literal["Strict", "Tolerate"]
Evict = Literal["never", "persistent", "immediate"]


class ResizeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of node-resize.md §2.3, §2.5, §4."""

    plug: bool = False
    """Gate NodeResourceHotPlug."""
    unplug: bool = False
    """Gate NodeResourceHotUnPlug; needs `plug`."""
    rewrites_oom_scores: bool = True
    """Gate OOMScoreRewrite."""

    quiet_s: float = 0.5
    shrink_quiet_s: float = 0.1
    max_delay_s: float = 3.0
    settle_s: float = 2.0
    """What follows within this time, and goes the same way, is the same generation."""
    poll_s: float = 10.0
    confirm_reads: int = 3
    confirm_s: float = 5.0
    jitter: Bytes = Bytes(64 * 1024**2)
    """Growth of memory below this is not worth a generation."""

    online_policy: Literal["auto", "none", "cpu", "memory", "all"] = "auto"
    online_grace_s: float = 2.0
    memory_online_as: Literal["online", "online_movable", "online_kernel"] = "online"
    keep_offline: tuple[str, ...] = ()
    """Parts an admin took offline: ``cpu3``, ``memory40``."""

    order: Order = "priority"
    cpu: CpuRule = "Strict"
    evict: Evict = "persistent"
    """Whether pods that no longer fit are evicted: never, once the shortage has lasted, or at once."""
    evict_quiet_s: float = 30.0
    """How long the machine must have been quiet before a shortage counts as lasting."""
    max_grace_s: int = 30
    squeeze_s: float = 60.0

    prepare_s: float = 600.0
    """How long a node may take to get ready for an unplug, and how long it then waits for it."""
    offline_s: float = 60.0
    """How long the kernel may take to let go of one part."""
    evict_again_s: float = 5.0
    """How soon an eviction that a disruption budget forbids is asked for again."""
