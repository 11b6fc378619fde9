"""The container runtime over CRI v1: containerd or CRI-O, behind `flexlet.ports.runtime.Runtime`.

One file per group of calls, each with its translation between flexlet's values and the wire; `calls` knows
deadlines and errors, `endpoint` sockets and channels. Nothing is retried here: the loop that asks is the retry.

gRPC and protobuf take memory and start threads, so they are loaded by `connect` and not by importing this package;
a process that has connected must not fork without exec any more.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from flexlet.adapters.cri.runtime import CriRuntime

CONTAINERD: Final = "unix:///run/containerd/containerd.sock"
PATIENCE_S: Final = 120.0
"""How long an ordinary call may take (``runtimeRequestTimeout``)."""


async def connect(
    endpoint: str = CONTAINERD, *, image_endpoint: str = "", patience_s: float = PATIENCE_S
) -> "CriRuntime":
    """A runtime that has answered; close it in the end.

    Raises ConfigError if nothing can be there (no socket, not a socket, not ours to open, an interface that
    flexlet does not speak), RuntimeFault if there is a socket but no good answer.
    """
    from flexlet.adapters.cri.runtime import CriRuntime

    runtime = CriRuntime(endpoint, image_endpoint or endpoint, patience_s)
    try:
        await runtime.greet()
    except BaseException:
        await runtime.close()
        raise
    return runtime
