"""The directories of pods on the node: volumes, hosts files, termination logs, container logs.

Where things lie follows the kubelet: ``<root>/pods/<uid>/volumes/kubernetes.io~empty-dir/<name>``,
``<root>/pods/<uid>/etc-hosts``, ``<root>/pods/<uid>/containers/<container>/<hex>``. Failures are `HostError`.
Every call may be repeated.
"""

from collections.abc import Sequence
from typing import Protocol

from flexlet.core.agent.containers.contents import VolumeContent


class Volumes(Protocol):
    """A pod's directory and what is mounted in it."""

    async def prepare(self, uid: str, volumes: Sequence[VolumeContent], fs_group: int | None = None) -> None:
        """Make the pod's directories and volumes, or bring the contents of existing ones up to date."""
        ...

    async def subpath(self, uid: str, volume_path: str, sub_path: str, container: str, index: int) -> str:
        """The host path of a path inside a volume, made if missing, and never outside of it by a link."""
        ...

    async def read_inside(self, volume_path: str, path: str, limit_bytes: int) -> bytes | None:
        """A regular file of a volume; None if there is none, it is larger, or a link leads out of the volume."""
        ...

    async def remove_volumes(self, uid: str) -> None:
        """Unmount and remove the volumes."""
        ...

    async def remove_pod(self, uid: str) -> None:
        """Remove the pod's directory, volumes included."""
        ...

    async def known(self) -> tuple[str, ...]:
        """Uids of the pods that have a directory."""
        ...


class Logs(Protocol):
    """Container logs, and the small files beside them."""

    async def write_hosts(self, uid: str, text: str) -> str:
        """Write the pod's hosts file; its path."""
        ...

    async def new_termination_log(self, uid: str, container: str) -> str:
        """An empty file that the container may write its last words into; its path."""
        ...

    async def read_end(self, path: str, limit_bytes: int) -> str:
        """The first bytes of a file, empty if it is not there."""
        ...

    async def make_log_directory(self, directory: str, container: str = "") -> None:
        """Make the pod's log directory, or that of a container in it."""
        ...

    async def highest_log(self, directory: str, container: str) -> int | None:
        """The highest restart count that a log is left of; None if there is none."""
        ...

    async def link_log(self, log_path: str, name: str) -> None:
        """Make the log known under ``/var/log/containers``."""
        ...

    async def remove_logs(self, log_path: str, name: str) -> None:
        """Remove a run's logs, rotated ones included, and its link."""
        ...

    async def tail(self, log_path: str, lines: int, limit_bytes: int) -> str:
        """The last lines that a container wrote, as plain text."""
        ...


class PodFiles(Volumes, Logs, Protocol):
    """Both."""
