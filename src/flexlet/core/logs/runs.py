"""Which run of a container a request for logs means, from what the pod's status says of it.

The texts of the refusals are the kubelet's; people read them in kubectl.
"""

import msgspec


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """A container's status as far as logs are concerned; ids are the runtime's, without a scheme.

    At most one of the first three is not None: why it waits, the run that runs, the run that ended. An ended run
    with an empty id never came to the runtime.
    """

    waiting: str | None = None
    running: str | None = None
    terminated: str | None = None
    last_terminated: str | None = None


class NoLogs(msgspec.Struct, frozen=True):
    """There is nothing to show, and why."""

    message: str


_WAITING_FOR_IMAGE = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def choose_run(pod: str, container: str, reported: Reported | None, *, previous: bool) -> str | NoLogs:
    """The id of the run whose log is meant."""
    where = f'container "{container}" in pod "{pod}"'
    if reported is None:
        return NoLogs(f"{where} is not available")
    if previous:
        return reported.last_terminated or NoLogs(f"previous terminated {where} not found")
    if reported.running is not None:
        return reported.running
    if reported.terminated is not None or reported.last_terminated is not None:
        return reported.terminated or reported.last_terminated or NoLogs(f"{where} is terminated")
    if reported.waiting is not None:
        return NoLogs(f"{where} is waiting to start: {_WAITING_FOR_IMAGE.get(reported.waiting, reported.waiting)}")
    return NoLogs(f"{where} is waiting to start - no logs yet")
