"""The host as a place to read from; what the texts mean is decided in `flexlet.core.machine`."""

from collections.abc import Sequence
from typing import Protocol

from flexlet.core.machine.snapshot import Snapshot


class HostReader(Protocol):
    """Reads files and the sizes of filesystems, never writes."""

    async def read(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """Files by path or wildcard, and the filesystems of directories, in one sweep beside the event loop.

        What does not exist is not in the snapshot; what cannot be read is named in it. Nothing raises.
        """
        ...
