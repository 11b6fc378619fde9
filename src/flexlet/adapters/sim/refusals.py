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


def not_found(what: str) -> RuntimeFault:
    """Something that is not, or no longer, there; each call has its own words for it."""
    return fault(f"{what}: not found", "NotFound")


def reserved(kind: str, name: str, holder: str) -> RuntimeFault:
    """A name that is taken, maybe by an earlier try."""
    return fault(f'failed to reserve {kind} name "{name}": name "{name}" is reserved for "{holder}"')


def wrong_state(deed: str, state: str) -> RuntimeFault:
    """Something that only a container in another state can be asked for."""
    return fault(f"{deed}: container is in CONTAINER_{state} state")


def no_task(sandbox_id: str) -> RuntimeFault:
    """A sandbox that containers cannot be made in any more."""
    return not_found(f"failed to get sandbox container task: no running task found: task {sandbox_id} not found")


def no_volume_image(name: str) -> RuntimeFault:
    """An image that shall be mounted and is not here; the words are those of containerd 2, which can do it."""
    return fault(f'ImageVolumeMountFailed: failed to resolve image "{name}": not found')


def no_sub_path(path: str, target: str) -> RuntimeFault:
    """A part of an image that it does not have."""
    why = f'failed to ensure image subpath "{path}" in "{target}": no such file or directory'
    return fault(f"ImageVolumeMountFailed: {why}")


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


def exec_failed(exec_id: str, why: str) -> RuntimeFault:
    """A command that could not be started."""
    return fault(
        f'failed to exec in container: failed to start exec "{exec_id}": OCI runtime exec failed: exec failed: '
        f"unable to start container process: {why}: unknown"
    )
