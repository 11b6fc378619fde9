"""The processes of one simulated container."""

from collections.abc import Callable

from flexlet.adapters.sim.kernel import Kernel
from flexlet.adapters.sim.processes import Process, Start
from flexlet.adapters.sim.records import ContainerRecord


class ContainerFamily:
    """`flexlet.adapters.sim.inside.Family` for a container; `ended` hears of every process that ends."""

    def __init__(
        self,
        kernel: Kernel,
        container: ContainerRecord,
        ended: Callable[[ContainerRecord, Process, int, bool], None],
    ) -> None:
        self._kernel = kernel
        self._container = container
        self._ended = ended

    def spawn(self, body: Start, parent: int) -> int:
        """Start a child of a process; its pid."""
        return self.start(body, parent=parent).pid

    def start(
        self, body: Start, *, parent: int = 0, is_init: bool = False, on_exit: Callable[[int], None] | None = None
    ) -> Process:
        """Start a process in the container's cgroup and namespace."""

        def over(process: Process, code: int, oom: bool) -> None:
            if on_exit is not None:
                on_exit(code)
            self._ended(self._container, process, code, oom)

        return self._kernel.spawn(
            body,
            self._container.cgroup,
            namespace=self._container.id,
            is_init=is_init,
            parent=parent,
            oom_score_adj=self._container.resources.oom_score_adj,
            on_exit=over,
        )

    def signal(self, pid: int, number: int) -> None:
        """Send a signal; 1 is the container's first process."""
        self._kernel.signal(self._container.pid if pid == 1 else pid, number)

    def now(self) -> float:
        """The time."""
        return self._kernel.now()
