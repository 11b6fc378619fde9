"""What the operator decides about all virtual machines of a cluster: KubeVirt's keys, and a few of our own."""

from typing import Final, Literal

import msgspec

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB

IMAGE: Final = "localhost/flexlet/vm-launcher:latest"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults are KubeVirt's where it has them."""

    rollout_strategy: Literal["LiveUpdate", "Stage"] = "LiveUpdate"
    """vmRolloutStrategy; Stage: changes wait for the next start."""
    max_hotplug_ratio: int = 4
    """liveUpdateConfiguration.maxHotplugRatio: how far a machine may grow that does not say."""
    max_cpu_sockets: int = 0
    """liveUpdateConfiguration.maxCpuSockets; 0: by the ratio."""
    max_guest: int = 0
    """liveUpdateConfiguration.maxGuest, bytes; 0: by the ratio."""
    cpu_allocation_ratio: int = 10
    """How many vCPUs share one CPU of the pod's request."""
    memory_overcommit: int = 100
    """Per cent: the pod requests guest * 100 / this, and the overhead."""
    overhead_ratio: float = 1.0
    """additionalGuestMemoryOverheadRatio."""
    has_even_parity: bool = False
    """Whether an isolated emulator thread gets a second CPU if the sum is odd without it."""
    image: str = IMAGE
    """Of launcher pods."""
    settle_s: float = 30.0
    """How long a guest may take to plug its memory again after a reset."""
    actuation_timeout_s: float = 120.0
    """After this long a resize that a node fails to carry out is taken back."""
    step_share: float = 0.25
    """A big grow of the guest goes in steps of this share of it ..."""
    step_min: int = 1 * GIB
    """... which are no smaller than this."""

    def told(self) -> str:
        """Those on which the size of a pod depends, and whether it changes, under KubeVirt's keys."""
        found = [
            f"vmRolloutStrategy {self.rollout_strategy}",
            f"maxHotplugRatio {self.max_hotplug_ratio}",
            *([f"maxCpuSockets {self.max_cpu_sockets}"] if self.max_cpu_sockets else []),
            *([f"maxGuest {Quantity.of_bytes(self.max_guest)}"] if self.max_guest else []),
            f"cpuAllocationRatio {self.cpu_allocation_ratio}",
            f"memoryOvercommit {self.memory_overcommit}",
            *([f"additionalGuestMemoryOverheadRatio {self.overhead_ratio:g}"] if self.overhead_ratio != 1 else []),
        ]
        return ", ".join(found)
