"""A CRI server that answers what it is told to and writes down what it was asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import grpc
from google.protobuf.message_factory import GetMessageClass

from flexlet.adapters.cri._gen import cri_pb2 as pb

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

VERSION = pb.VersionResponse(
    version="0.1.0", runtime_name="containerd", runtime_version="1.7.24", runtime_api_version="v1"
)


class Refusal(Exception):
    """What a call is answered with instead of a reply."""

    def __init__(self, code: grpc.StatusCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class FakeServer:
    """Replies by method name: a message, a Refusal, a list of them for a stream, or a function of the request."""

    def __init__(self) -> None:
        self.replies: dict[str, Any] = {"Version": VERSION}
        self.asked: list[tuple[str, Any]] = []
        self.deadlines: dict[str, float | None] = {}

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """One generic handler for each service of the proto file."""
        return [
            grpc.method_handlers_generic_handler(
                service.full_name, {method.name: self._handler(method) for method in service.methods}
            )
            for service in pb.DESCRIPTOR.services_by_name.values()
        ]

    def _handler(self, method: Any) -> Any:
        request, reply = GetMessageClass(method.input_type), GetMessageClass(method.output_type)

        def note(message: Any, context: Context) -> Any:
            self.asked.append((method.name, message))
            self.deadlines[method.name] = context.time_remaining()
            answer = self.replies.get(method.name, reply())
            return answer(message) if callable(answer) else answer

        async def unary(message: Any, context: Context) -> Any:
            answer = note(message, context)
            if isinstance(answer, Refusal):
                await context.abort(answer.code, answer.detail)
            return answer

        async def stream(message: Any, context: Context) -> AsyncIterator[Any]:
            for answer in note(message, context):
                if isinstance(answer, Refusal):
                    await context.abort(answer.code, answer.detail)
                yield answer

        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, request.FromString, reply.SerializeToString)
        return grpc.unary_unary_rpc_method_handler(unary, request.FromString, reply.SerializeToString)


@asynccontextmanager
async def serving(path: Path, fake: FakeServer) -> AsyncIterator[None]:
    """Let it listen on a unix socket."""
    server = grpc.aio.server(options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers(fake.handlers())
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    try:
        yield
    finally:
        await server.stop(None)
