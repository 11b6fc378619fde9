"""What the operator decides about all balloons of a cluster."""

from typing import Literal

import msgspec

from flexlet.api.units import MIB
from flexlet.core.nodesize import names, sizes
from flexlet.core.nodesize.sizes import Amounts


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of balloon.md."""

    namespace: str = names.NAMESPACE
    image: str = "registry.k8s.io/pause:3.10"
    owner: str = "flexlet"
    """One owner per node: balloons of another are left alone."""
    mode: Literal["auto", "stock-critical"] = "auto"
    management: Literal["PerNode", "DaemonSet"] = "PerNode"
    settle_s: float = 5.0
    """How long a node's last answer may be one to an earlier request."""
    silence_s: float = 30.0
    """How long a node may leave an inflate unanswered: a busy node is not a full one."""
    decide_s: float = 9.0
    """A refused inflate is given up after this, however often it was tried with less."""
    drift_grace_s: float = 30.0
    halvings: int = 4
    critical_reserve: Amounts = msgspec.field(default_factory=sizes.CRITICAL_RESERVE.copy)
    taints_while_resizing: bool = False
    report_every_s: float = 1.0
    """Figures that change because pods come and go are written this often at most."""
    memory_block: int = 128 * MIB
    """What a machine's memory is plugged and unplugged in."""
    prepare_s: float = 120.0
    """How long a node may need to get ready for an unplug."""


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the control plane, for the mode guard."""

    version: tuple[int, int] = (0, 0)
    spares_victims: bool = False
    """Whether gate InPlacePodVerticalScalingSchedulerPreemption is on in all components."""
