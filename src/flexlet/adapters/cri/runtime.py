"""One connection to a container runtime, with all that CRI offers flexlet."""

from typing import Self

from flexlet.adapters.cri.calls import IMAGES, RUNTIME, Calls
from flexlet.adapters.cri.containers import ContainerCalls
from flexlet.adapters.cri.endpoint import open_channel, require_socket, socket_path
from flexlet.adapters.cri.images import ImageCalls
from flexlet.adapters.cri.observing import ObservingCalls
from flexlet.adapters.cri.sandboxes import SandboxCalls
from flexlet.adapters.cri.streams import StreamCalls


class CriRuntime(ObservingCalls, SandboxCalls, ContainerCalls, StreamCalls, ImageCalls):
    """`flexlet.ports.runtime.Runtime` on a real runtime; made by `flexlet.adapters.cri.connect`.

    Images may be served elsewhere. The connection comes back by itself when the runtime is restarted; calls made
    meanwhile fail with the code Unavailable.
    """

    def __init__(self, endpoint: str, image_endpoint: str, patience_s: float) -> None:
        self._paths = list(dict.fromkeys((socket_path(endpoint), socket_path(image_endpoint))))
        self._channels = [open_channel(path) for path in self._paths]
        self._calls = Calls(self._channels[0], RUNTIME, patience_s)
        self._images = Calls(self._channels[-1], IMAGES, patience_s)

    async def greet(self) -> None:
        """Make sure that somebody is there who speaks our language."""
        for path in self._paths:
            require_socket(path)
        await self.version()
        await self.image_filesystems()

    async def close(self) -> None:
        """Hang up; calls under way are cancelled."""
        for channel in self._channels:
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
