"""What a process in a simulated container has around it: files, an environment, somewhere to print, relatives."""

from collections.abc import Callable, Mapping
from typing import Protocol

from flexlet.adapters.sim.hostfiles import ContainerFiles
from flexlet.adapters.sim.processes import Start


class Family(Protocol):
    """The processes of the same container."""

    def spawn(self, body: Start, parent: int) -> int:
        """Start a child of a process; its pid."""
        ...

    def signal(self, pid: int, number: int) -> None:
        """Send a signal; 1 is the container's first process."""
        ...

    def now(self) -> float:
        """The time."""
        ...


class Inside:
    """The surroundings of one process."""

    def __init__(
        self,
        files: ContainerFiles,
        out: Callable[[str], None],
        err: Callable[[str], None],
        family: Family,
        *,
        environment: Mapping[str, str],
        termination_log: str = "/dev/termination-log",
    ) -> None:
        self.files = files
        self.out = out
        self.err = err
        self.family = family
        self.environment = dict(environment)
        self.termination_log = termination_log
