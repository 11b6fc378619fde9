"""Where a runtime listens, and a channel to it.

CRI is spoken in the clear over a unix socket. Limits and back-off are the kubelet's: answers up to 16 MiB, a lost
connection tried again after 100 ms, then less and less often up to every 3 s.
"""

import os
import stat
from typing import Final

import grpc

from flexlet.errors import ConfigError

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", 16 * 1024 * 1024),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 3000),
    ("grpc.min_reconnect_backoff_ms", 5000),  # despite its name the time one attempt is given at least
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a new client does not inherit the back-off of an old one
)


def socket_path(endpoint: str) -> str:
    """The path in ``unix:///run/x.sock``, or the path itself."""
    path = endpoint.removeprefix("unix://").removeprefix("unix:")
    if not path.startswith("/"):
        raise ConfigError(
            f'container runtime endpoint "{endpoint}" cannot be used: write the absolute path of a unix socket, '
            "such as unix:///run/containerd/containerd.sock"
        )
    return path


def require_socket(path: str) -> None:
    """Say plainly why nobody can be reached there, before gRPC says it at length."""
    name = "CRI-O" if "crio" in path else "containerd"
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - one inode, no need of pathlib
    except FileNotFoundError as error:
        raise ConfigError(
            f"{name} is not running: there is no {path}; start it, or set containerRuntimeEndpoint to the socket "
            "of the runtime that does"
        ) from error
    except OSError as error:
        raise ConfigError(f"cannot look for {name} at {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(mode):
        raise ConfigError(f"containerRuntimeEndpoint {path} is not a socket; name the one that {name} listens on")
    if not os.access(path, os.R_OK | os.W_OK):
        raise ConfigError(f"{path} may not be opened by this user; run as root")


def open_channel(path: str) -> grpc.aio.Channel:
    """A channel that connects with its first call."""
    return grpc.aio.insecure_channel(f"unix:{path}", options=_OPTIONS)
