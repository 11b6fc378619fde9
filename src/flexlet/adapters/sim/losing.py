"""What a simulated containerd loses when it is started again, and how it speaks of that.

As seen of containerd 1.7.24 when a shim could not list its processes at that moment: what the shim stands for
runs on, but has no task any more. A sandbox is NOTREADY and keeps its address; a container is EXITED, 255,
Unknown, and stopping it does nothing; one whose shim did not answer in time is UNKNOWN, and can be stopped. The
containerd after that one finds them again.
"""

from flexlet.adapters.sim.containerd import Containerd
from flexlet.core.runtime.shown import EXITED, NOT_READY, READY, RUNNING, UNKNOWN


def lose_sandboxes(containerd: Containerd, uid: str) -> None:
    """The sandboxes of a pod."""
    for each in containerd.sandboxes.values():
        if each.config.uid == uid and each.state == READY:
            each.state, each.is_lost = NOT_READY, True


def lose_containers(containerd: Containerd, uid: str, state: str = EXITED) -> None:
    """The containers of a pod that run; `state` is EXITED or UNKNOWN."""
    for each in containerd.containers.values():
        if each.sandbox.config.uid == uid and each.state == RUNNING:
            each.state, each.is_lost = state, state == EXITED
            if each.is_lost:
                each.exit_code, each.reason, each.finished_at = 255, "Unknown", containerd.time_ns()


def find_again(containerd: Containerd) -> None:
    """Containerd is started once more, and every shim answers."""
    processes = containerd.kernel.machine.processes
    for sandbox in containerd.sandboxes.values():
        if sandbox.state == NOT_READY and sandbox.pid in processes:
            sandbox.state, sandbox.is_lost = READY, False
    for run in containerd.containers.values():
        if (run.is_lost or run.state == UNKNOWN) and run.pid in processes:
            run.state, run.is_lost, run.exit_code, run.reason, run.finished_at = RUNNING, False, 0, "", 0
