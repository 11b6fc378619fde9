"""What all groups of calls of the simulated runtime share."""

from flexlet.adapters.sim import refusals
from flexlet.adapters.sim.containerd import Containerd
from flexlet.adapters.sim.records import ContainerRecord, SandboxRecord
from flexlet.adapters.sim.trouble import Trouble


class Part:
    """A connection to a `Containerd`; several may follow one another, as agents do."""

    def __init__(self, containerd: Containerd, trouble: Trouble | None = None) -> None:
        self.containerd = containerd
        self.trouble = trouble or Trouble()
        self.is_away = False
        """As if containerd were stopped: every call is answered Unavailable, containers run on."""

    def begin(self) -> None:
        """Nobody answers, or everything has happened that was due."""
        if self.is_away:
            raise refusals.unavailable()
        self.containerd.kernel.settle()

    def container(self, identity: str, missing: str = 'failed to find container "{}" in store') -> ContainerRecord:
        """A container that is there; `missing` is what the call says if it is not."""
        if identity not in self.containerd.containers:
            raise refusals.not_found(missing.format(identity))
        return self.containerd.containers[identity]

    def sandbox(self, identity: str, missing: str = 'failed to find sandbox "{}"') -> SandboxRecord:
        """A sandbox that is there; `missing` is what the call says if it is not."""
        if identity not in self.containerd.sandboxes:
            raise refusals.not_found(missing.format(identity))
        return self.containerd.sandboxes[identity]
