"""Probes and lifecycle hooks: the ways in which a node talks to a container."""

import msgspec

from flexlet.api.meta import KubeStruct


class ExecAction(KubeStruct, frozen=True, kw_only=True):
    """A command run inside the container."""

    command: tuple[str, ...] = ()


class HttpHeader(KubeStruct, frozen=True, kw_only=True):
    """A header of a probe's request."""

    name: str = ""
    value: str = ""


class HttpGetAction(KubeStruct, frozen=True, kw_only=True):
    """An HTTP request; `port` is a number or the name of a container port."""

    path: str = ""
    port: int | str = 0
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpSocketAction(KubeStruct, frozen=True, kw_only=True):
    """A connection that only has to open."""

    port: int | str = 0
    host: str = ""


class GrpcAction(KubeStruct, frozen=True, kw_only=True):
    """A question to the gRPC health service."""

    port: int = 0
    service: str | None = None


class SleepAction(KubeStruct, frozen=True, kw_only=True):
    """A pause."""

    seconds: int = 0


class Handler(KubeStruct, frozen=True, kw_only=True):
    """One of several ways to act; exactly one is set."""

    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpSocketAction | None = None
    grpc: GrpcAction | None = None
    sleep: SleepAction | None = None


class Probe(Handler, frozen=True, kw_only=True):
    """A question asked again and again."""

    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Lifecycle(KubeStruct, frozen=True, kw_only=True):
    """What to do right after the start and right before the end."""

    post_start: Handler | None = None
    pre_stop: Handler | None = None
    stop_signal: str | None = msgspec.field(default=None, name="stopSignal")
