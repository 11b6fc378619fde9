"""A whole node in one process and in simulated time: for flexlet's own tests and for those of others.

`simtime` is an event loop in which nobody waits: when nothing is left to run, time jumps to the next alarm.
`cluster` is the embedded API server without wire and disk, with a scheduler if wanted. `node` is a simulated
machine with its runtime, its cgroups and its files, and the real agent on top of it, which can be killed and
started again. Defaulting, admission, deciding and acting are the real ones; only kernel and runtime are played.
"""

from flexlet.testing.cluster import SimCluster
from flexlet.testing.host import SimHost
from flexlet.testing.node import NodeOptions, SimulatedNode
from flexlet.testing.simtime import SimClock, idle, run

__all__ = ["NodeOptions", "SimClock", "SimCluster", "SimHost", "SimulatedNode", "idle", "run"]
