"""A machine to look at and to plug: what /proc and /sys would say of so many CPUs and so much memory."""

from flexlet.adapters.sim.plugging import SimHardware as SimHost
from flexlet.api.units import GIB, KIB

__all__ = ["GIB", "KIB", "SimHost"]
