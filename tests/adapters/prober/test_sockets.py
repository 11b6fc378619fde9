"""TCP probes and gRPC health checks, in the words of Go's clients."""

import asyncio

import grpc
import pytest
from grpc import aio
from tests.adapters.prober.servers import serving

from flexlet.adapters.prober import NetworkProber
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing.targets import GrpcRequest, TcpRequest

METHOD = "/grpc.health.v1.Health/Check"


async def accept(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Take the connection and nothing else."""


async def test_an_open_port_is_good() -> None:
    async with serving(accept) as port:
        assert await NetworkProber().ask(TcpRequest("127.0.0.1", port), 5) == Answer(result="success")
        assert await NetworkProber().call(TcpRequest("127.0.0.1", port), 5) == ""


async def test_a_closed_port_is_a_failure() -> None:
    told = "dial tcp 127.0.0.1:1: connect: connection refused"
    assert await NetworkProber().ask(TcpRequest("127.0.0.1", 1), 5) == Answer(result="failure", output=told)
    told = "dial tcp [::1]:1: connect: connection refused"
    assert await NetworkProber().ask(TcpRequest("::1", 1), 5) == Answer(result="failure", output=told)


async def test_a_connection_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(asyncio, "open_connection", never)
    got = await NetworkProber().ask(TcpRequest("10.9.8.7", 80), 0.01)
    assert got == Answer(result="failure", output="dial tcp 10.9.8.7:80: i/o timeout")


class Health(grpc.GenericRpcHandler):
    """A health service that answers with given bytes, or refuses."""

    def __init__(self, reply: bytes | grpc.StatusCode, wait_s: float = 0.0) -> None:
        self.reply = reply
        self.wait_s = wait_s
        self.asked: list[bytes] = []

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
        return grpc.unary_unary_rpc_method_handler(self.check) if details.method == METHOD else None

    async def check(self, request: bytes, context: "aio.ServicerContext[bytes, bytes]") -> bytes:
        self.asked.append(request)
        await asyncio.sleep(self.wait_s)
        if isinstance(self.reply, grpc.StatusCode):
            await context.abort(self.reply, "said no")
        return self.reply


async def check(handler: grpc.GenericRpcHandler, service: str = "", timeout_s: float = 5.0) -> Answer:
    server = aio.server()
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        return await NetworkProber().ask(GrpcRequest("127.0.0.1", port, service), timeout_s)
    finally:
        await server.stop(None)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"\x08\x01", Answer(result="success", output="service healthy")),
        (b"", Answer(result="failure", output='service unhealthy (responded with "UNKNOWN")')),
        (b"\x08\x02", Answer(result="failure", output='service unhealthy (responded with "NOT_SERVING")')),
        (b"\x08\x03", Answer(result="failure", output='service unhealthy (responded with "SERVICE_UNKNOWN")')),
        (b"\x08\x07", Answer(result="failure", output='service unhealthy (responded with "7")')),
        (
            grpc.StatusCode.NOT_FOUND,
            Answer(
                result="failure",
                output="error: health rpc probe failed: rpc error: code = NotFound desc = said no",
            ),
        ),
        (
            grpc.StatusCode.UNIMPLEMENTED,
            Answer(
                result="failure",
                output="error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
                "said no",
            ),
        ),
    ],
)
async def test_only_serving_is_healthy(reply: bytes | grpc.StatusCode, expected: Answer) -> None:
    assert await check(Health(reply)) == expected


async def test_the_service_is_named_in_the_question() -> None:
    health = Health(b"\x08\x01")
    await check(health, "shop")
    await check(health, "x" * 200)
    assert health.asked == [b"\x0a\x04shop", b"\x0a\xc8\x01" + b"x" * 200]


async def test_a_late_answer_is_a_failure() -> None:
    got = await check(Health(b"\x08\x01", wait_s=5), timeout_s=0.3)
    assert got == Answer(result="failure", output="timeout: health rpc did not complete within 300ms")


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    got = await NetworkProber().ask(GrpcRequest("127.0.0.1", 1), 0.2)
    told = 'timeout: failed to connect service "127.0.0.1:1" within 200ms: context deadline exceeded'
    assert got == Answer(result="failure", output=told)
