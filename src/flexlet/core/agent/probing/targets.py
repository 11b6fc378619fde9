"""From a handler in a pod's spec to a request that can be sent: names of ports and hosts resolved."""

import msgspec

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.handlers import Handler, Probe
from flexlet.errors import InputError


class ExecRequest(msgspec.Struct, frozen=True, tag=True):
    """A command for the runtime to run in the container."""

    command: tuple[str, ...]


class HttpRequest(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A GET request; headers are complete."""

    scheme: str
    host: str
    port: int
    path: str
    headers: tuple[tuple[str, str], ...] = ()


class TcpRequest(msgspec.Struct, frozen=True, tag=True):
    """A connection."""

    host: str
    port: int


class GrpcRequest(msgspec.Struct, frozen=True, tag=True):
    """A health check."""

    host: str
    port: int
    service: str = ""


class SleepRequest(msgspec.Struct, frozen=True, tag=True):
    """A pause."""

    seconds: int


Request = ExecRequest | HttpRequest | TcpRequest | GrpcRequest | SleepRequest


def probe_request(pod: NodePod, container: NodeContainer, probe: Probe, ip: str) -> Request:
    """What to send for a probe; InputError if the handler names a port that does not exist."""
    del pod, container, probe, ip
    raise InputError("missing probe handler")


def hook_request(pod: NodePod, container: NodeContainer, handler: Handler, ip: str) -> Request:
    """What to send for a lifecycle hook; InputError if the handler names a port that does not exist."""
    del pod, container, handler, ip
    raise InputError("invalid handler")
