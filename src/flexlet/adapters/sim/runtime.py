"""The simulated runtime as one, and the whole node."""

from flexlet.adapters.sim.cgroups import SimCgroupTree, SimOomScores
from flexlet.adapters.sim.containerd import Containerd
from flexlet.adapters.sim.containers import ContainerPart
from flexlet.adapters.sim.hostfiles import HostFiles
from flexlet.adapters.sim.images import SimImages
from flexlet.adapters.sim.kernel import Kernel
from flexlet.adapters.sim.machine import Machine
from flexlet.adapters.sim.observing import ObservingPart
from flexlet.adapters.sim.programs import Programs
from flexlet.adapters.sim.pulling import ImagePart, StreamPart
from flexlet.adapters.sim.sandboxes import SandboxPart
from flexlet.adapters.sim.trouble import Trouble
from flexlet.ports.clock import Clock


class SimRuntime(ObservingPart, SandboxPart, ContainerPart, StreamPart, ImagePart):
    """`flexlet.ports.runtime.Runtime` in memory."""


class SimNode:
    """Everything below an agent on one simulated machine; it outlives the agents that use it."""

    def __init__(self, clock: Clock, *, machine: Machine | None = None, files: HostFiles | None = None) -> None:
        self.trouble = Trouble()
        self.kernel = Kernel(clock, machine)
        self.images = SimImages("busybox:1")
        self.programs = Programs()
        self.containerd = Containerd(self.kernel, images=self.images, programs=self.programs, files=files)
        self.runtime = SimRuntime(self.containerd, self.trouble)
        self.cgroups = SimCgroupTree(self.kernel, self.trouble)
        self.oom_scores = SimOomScores(self.kernel)
