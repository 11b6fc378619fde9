"""From a handler in a pod's spec to a request that can be sent: ports and hosts resolved, headers complete.

A port may be a name of one of the container's ports, a host that is not given is the pod's address. Headers follow
kubelet `probe/http` of Kubernetes 1.36: names in canonical spelling, a user agent and ``Accept`` unless the pod
sets them, and an empty ``Accept`` means none.
"""

from typing import Final

import msgspec

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.container import EnvVar
from flexlet.api.nodepod.handlers import Handler, HttpGetAction, HttpHeader, Probe
from flexlet.core.agent.containers import names
from flexlet.core.agent.containers.expansion import expanded
from flexlet.core.agent.probing import addresses
from flexlet.errors import InputError

_VERSION: Final = "1.36"
_HIGHEST_PORT: Final = 65535


class ExecRequest(msgspec.Struct, frozen=True, tag=True):
    """A command for the runtime to run in the container."""

    command: tuple[str, ...]


class HttpRequest(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A GET request; a ``Host`` among the headers stands for the host in the address."""

    scheme: str
    host: str
    port: int
    path: str
    """As it is sent: escaped, with the query."""
    headers: tuple[tuple[str, str], ...] = ()


class TcpRequest(msgspec.Struct, frozen=True, tag=True):
    """A connection that only has to open."""

    host: str
    port: int


class GrpcRequest(msgspec.Struct, frozen=True, tag=True):
    """A question to the gRPC health service."""

    host: str
    port: int
    service: str = ""


class SleepRequest(msgspec.Struct, frozen=True, tag=True):
    """A pause."""

    seconds: int


Request = ExecRequest | HttpRequest | TcpRequest | GrpcRequest | SleepRequest


def probe_request(
    pod: NodePod, container: NodeContainer, probe: Probe, ip: str
) -> ExecRequest | HttpRequest | TcpRequest | GrpcRequest:
    """What to send for a probe; InputError if the handler names a port that does not exist."""
    if probe.exec is not None:
        # Only what is written out in the spec: a probe does not see values from elsewhere.
        values = _literal(container.env)
        return ExecRequest(tuple(expanded(word, values) for word in probe.exec.command))
    if probe.http_get is not None:
        return _http(container, probe.http_get, ip, "probe")
    if probe.tcp_socket is not None:
        return TcpRequest(probe.tcp_socket.host or ip, _port(container, probe.tcp_socket.port))
    if probe.grpc is not None:
        return GrpcRequest(ip, probe.grpc.port, probe.grpc.service or "")
    raise InputError(f"missing probe handler for {names.full_name(pod)}:{container.name}")


def hook_request(
    pod: NodePod, container: NodeContainer, handler: Handler, ip: str
) -> ExecRequest | HttpRequest | SleepRequest:
    """What to send for a lifecycle hook; InputError if it cannot be sent (``tcpSocket`` is no hook)."""
    del pod
    if handler.exec is not None:
        return ExecRequest(handler.exec.command)
    if handler.http_get is not None:
        if not (handler.http_get.host or ip):
            raise InputError("failed to find networking container")
        return _http(container, handler.http_get, ip, "lifecycle")
    if handler.sleep is not None:
        return SleepRequest(handler.sleep.seconds)
    raise InputError("invalid handler")


def _http(container: NodeContainer, action: HttpGetAction, ip: str, purpose: str) -> HttpRequest:
    return HttpRequest(
        scheme=action.scheme.lower() or "http",
        host=action.host or ip,
        port=_port(container, action.port),
        path=addresses.request_path(action.path),
        headers=_headers(action.http_headers, purpose),
    )


def _port(container: NodeContainer, port: int | str) -> int:
    number = _named_port(container, port) if isinstance(port, str) else port
    if not 0 < number <= _HIGHEST_PORT:
        raise InputError(f"invalid port number: {number}")
    return number


def _named_port(container: NodeContainer, name: str) -> int:
    for each in container.ports:
        if each.name == name:
            return each.container_port
    try:
        return int(name)
    except ValueError:
        raise InputError(f'strconv.Atoi: parsing "{name}": invalid syntax') from None


def _headers(given: tuple[HttpHeader, ...], purpose: str) -> tuple[tuple[str, str], ...]:
    headers = [(addresses.canonical_header(each.name), each.value) for each in given]
    first = dict(reversed(headers))
    if "User-Agent" not in first:
        headers.append(("User-Agent", f"kube-{purpose}/{_VERSION}"))
    if "Accept" not in first:
        headers.append(("Accept", "*/*"))
    elif not first["Accept"]:
        headers = [(name, value) for name, value in headers if name != "Accept"]
    return tuple(headers)


def _literal(env: tuple[EnvVar, ...]) -> dict[str, str]:
    return {each.name: each.value for each in env}
