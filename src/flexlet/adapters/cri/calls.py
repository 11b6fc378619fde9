"""CRI methods over a channel: deadlines, and failures in flexlet's words.

Every call has a deadline unless it is asked for without; the usual one is ``runtimeRequestTimeout``. A failure
is a RuntimeFault whose code is spelled as in Go, since that is how Kubernetes' messages spell it.
"""

from collections.abc import AsyncGenerator
from typing import Final, Protocol, Self, TypeVar

import grpc

from flexlet.errors import RuntimeFault

RUNTIME: Final = "runtime.v1.RuntimeService"
IMAGES: Final = "runtime.v1.ImageService"

NOT_FOUND: Final = "NotFound"
UNIMPLEMENTED: Final = "Unimplemented"


class Message(Protocol):
    """What generated messages have in common."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """The message on the wire."""
        ...

    @classmethod
    def FromString(cls, s: bytes, /) -> Self:  # noqa: N802 - protobuf's name
        """The message from the wire."""
        ...


Reply = TypeVar("Reply", bound=Message)


class Calls:
    """The methods of one service."""

    def __init__(self, channel: grpc.aio.Channel, service: str, patience_s: float) -> None:
        self.patience_s = patience_s
        self._channel = channel
        self._service = service

    async def ask(self, method: str, request: Message, reply: type[Reply], about: str = "") -> Reply:
        """Call with the usual deadline; `about` names in messages what the call is for."""
        return await self.ask_within(self.patience_s, method, request, reply, about)

    async def ask_within(
        self, seconds: float | None, method: str, request: Message, reply: type[Reply], about: str = ""
    ) -> Reply:
        """Call with this deadline, or None for as long as it takes."""
        call = self._channel.unary_unary(
            f"/{self._service}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString,
        )
        try:
            return await call(request, timeout=seconds)
        except grpc.aio.AioRpcError as error:
            raise fault(error, method, about) from error

    async def listen(self, method: str, request: Message, reply: type[Reply]) -> AsyncGenerator[Reply]:
        """Messages of a stream, as long as it lasts."""
        call = self._channel.unary_stream(
            f"/{self._service}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=reply.FromString,
        )(request)
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as error:
            raise fault(error, method) from error
        finally:
            call.cancel()


def fault(error: grpc.aio.AioRpcError, method: str, about: str = "") -> RuntimeFault:
    """The same failure without gRPC."""
    code, detail = code_word(error.code()), error.details() or ""
    what = f"{method} of {about}" if about else method
    return RuntimeFault(f"{what} failed: {code}: {detail}", code=code, detail=detail)


def code_word(code: grpc.StatusCode) -> str:
    """A code as Go spells it: NotFound, Unavailable."""
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "OK" if code is grpc.StatusCode.OK else code.name.title().replace("_", "")


def is_unknown_method(failure: RuntimeFault) -> bool:
    """Whether the runtime does not have the call; containerd 2.2 says so in words only."""
    return failure.code == UNIMPLEMENTED or (failure.code == "Unknown" and "not implemented" in failure.detail)


def required(value: str, method: str, field: str) -> str:
    """A reply's field that nothing can be done without."""
    if not value:
        raise RuntimeFault(f"{method} answered without {field}", code="Internal")
    return value
