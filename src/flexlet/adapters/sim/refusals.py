"""What containerd 1.7 with runc 1.1 says when something cannot be done.

Words matter: they end up in events and statuses. Codes are gRPC's; errors that containerd does not classify are
Unknown.
"""

from flexlet.errors import RuntimeFault


def fault(detail: str, code: str = "Unknown") -> RuntimeFault:
    """A failed call."""
    return RuntimeFault(detail, code=code, detail=detail)


def unavailable() -> RuntimeFault:
    """Nobody listens on the socket."""
    return fault("connection error: dial unix /run/containerd/containerd.sock: connection refused", "Unavailable")


def no_container(identity: str) -> RuntimeFault:
    """A container that is not, or no longer, there."""
    return fault(f'an error occurred when try to find container "{identity}": not found', "NotFound")


def no_sandbox(identity: str) -> RuntimeFault:
    """A sandbox that is not, or no longer, there."""
    return fault(f'an error occurred when try to find sandbox "{identity}": not found', "NotFound")


def reserved(kind: str, name: str, holder: str) -> RuntimeFault:
    """A name that is taken, maybe by an earlier try."""
    return fault(f'failed to reserve {kind} name "{name}": name "{name}" is reserved for "{holder}"')


def no_image(name: str) -> RuntimeFault:
    """An image that has not been pulled."""
    return fault(f'failed to resolve image "{name}": not found', "NotFound")


def wrong_state(deed: str, identity: str, state: str) -> RuntimeFault:
    """Something that only a container in another state can be asked for."""
    return fault(f'failed to {deed} container "{identity}": container is in CONTAINER_{state} state')


def not_running(sandbox_id: str) -> RuntimeFault:
    """A sandbox that containers cannot be made or started in any more."""
    return fault(f'sandbox container "{sandbox_id}" is not running')


def update_failed(cgroup: str, error: OSError) -> RuntimeFault:
    """A cgroup write that the kernel refused."""
    return fault(f"failed to update resources: failed to update task: {cgroup}: {error.strerror}: unknown")


def exec_timed_out(seconds: int) -> RuntimeFault:
    """A command that took too long."""
    return fault(
        f"failed to exec in container: timeout {seconds}s exceeded: context deadline exceeded", "DeadlineExceeded"
    )


def start_failed(why: str) -> str:
    """The whole text of a failed start."""
    return (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create "
        f"failed: unable to start container process: {why}: unknown"
    )


def exec_failed(why: str) -> str:
    """The whole text of a command that could not be started."""
    return (
        "failed to exec in container: failed to start exec: OCI runtime exec failed: exec failed: unable to start "
        f"container process: {why}: unknown"
    )
