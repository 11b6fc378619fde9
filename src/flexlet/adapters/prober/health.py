"""The gRPC health service, asked once: the two messages of it are a string and a number.

gRPC is loaded with the first such probe; a node without any does without.
"""

from typing import Any, Final

from flexlet.api import duration, gotext
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing.addresses import host_port
from flexlet.core.agent.probing.targets import GrpcRequest

_METHOD: Final = "/grpc.health.v1.Health/Check"
_USER_AGENT: Final = "kube-probe/1.36"
_SERVING: Final = 1
_NAMES: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_OPTIONS: Final = (
    ("grpc.primary_user_agent", _USER_AGENT),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
)


async def check(request: GrpcRequest, timeout_s: float) -> Answer:
    """Whether the service says that it serves; all else is a failure."""
    from grpc import aio

    address = host_port(request.host, request.port)
    async with aio.insecure_channel(address, options=_OPTIONS) as channel:
        return await _ask(channel, request, address, timeout_s)


async def _ask(channel: Any, request: GrpcRequest, address: str, timeout_s: float) -> Answer:
    import asyncio

    from grpc.aio import AioRpcError

    within = duration.text(int(timeout_s * 10**9))
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    try:
        async with asyncio.timeout_at(deadline):
            await channel.channel_ready()
    except TimeoutError:
        where = gotext.quote(address)
        return _failed(f"timeout: failed to connect service {where} within {within}: context deadline exceeded")
    call = channel.unary_unary(_METHOD)
    try:
        reply: bytes = await call(_question(request.service), timeout=max(0.001, deadline - loop.time()))
    except AioRpcError as error:
        return _failed(_complaint(error, within))
    status = _status(reply)
    if status != _SERVING:
        name = _NAMES[status] if status < len(_NAMES) else str(status)
        return _failed(f'service unhealthy (responded with "{name}")')
    return Answer(result="success", output="service healthy")


def _failed(text: str) -> Answer:
    return Answer(result="failure", output=text)


def _complaint(error: Any, within: str) -> str:
    code, details = error.code().name, error.details() or ""
    if code == "UNIMPLEMENTED":
        return f"error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {details}"
    if code == "DEADLINE_EXCEEDED":
        return f"timeout: health rpc did not complete within {within}"
    word = "".join(part.capitalize() for part in code.split("_"))
    return f"error: health rpc probe failed: rpc error: code = {word} desc = {details}"


def _question(service: str) -> bytes:
    """HealthCheckRequest: field 1, a string."""
    name = service.encode()
    return b"\x0a" + _varint(len(name)) + name if name else b""


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _status(reply: bytes) -> int:
    """HealthCheckResponse: field 1, an enum that is 0 when it is left out."""
    return reply[1] if len(reply) >= 2 and reply[0] == 0x08 else 0
