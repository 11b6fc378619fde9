"""The Prober port on the network."""

import asyncio
import ssl
from functools import cached_property
from typing import Final

import msgspec

from flexlet.adapters.prober import dial, exchange, health
from flexlet.adapters.prober.dial import Broken
from flexlet.adapters.prober.exchange import Progress
from flexlet.core.agent.observations import Answer
from flexlet.core.agent.probing import TRIES
from flexlet.core.agent.probing.addresses import host_port
from flexlet.core.agent.probing.targets import GrpcRequest, HttpRequest, TcpRequest

_LATE: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_LATE_BODY: Final = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
_NOT_TLS: Final = "server gave HTTP response to HTTPS client"


class NetworkProber:
    """Asks over the network; nothing that the other side does makes it raise."""

    async def ask(self, request: HttpRequest | TcpRequest | GrpcRequest, timeout_s: float) -> Answer:
        """The answer to a probe; one that could not be read is asked for again, three times in all."""
        for _ in range(TRIES):
            answer = await self._ask_once(request, timeout_s)
            if answer.result != "unknown":
                break
        return answer

    async def call(self, request: HttpRequest | TcpRequest, timeout_s: float) -> str:
        """Carry out a lifecycle hook: any answer will do. A server without TLS is asked again without."""
        if isinstance(request, TcpRequest):
            return (await self._connects(request, timeout_s)).output
        fault = await self._fault(request, timeout_s)
        if _NOT_TLS in fault:
            plain = [header for header in request.headers if header[0] != "Authorization"]
            return await self._fault(
                msgspec.structs.replace(request, scheme="http", headers=tuple(plain)), timeout_s
            )
        return fault

    async def _ask_once(self, request: HttpRequest | TcpRequest | GrpcRequest, timeout_s: float) -> Answer:
        match request:
            case HttpRequest():
                return await self._gets(request, timeout_s)
            case TcpRequest():
                return await self._connects(request, timeout_s)
            case GrpcRequest():
                return await health.check(request, timeout_s)

    async def _gets(self, request: HttpRequest, timeout_s: float) -> Answer:
        progress = Progress()
        try:
            async with asyncio.timeout(timeout_s):
                answer = await exchange.get(request, self._tls, progress)
        except TimeoutError:
            if progress.in_body:
                return Answer(result="unknown", output=_LATE_BODY)
            return Answer(result="failure", output=f'Get "{progress.url}": {_LATE}')
        except Broken as error:
            return Answer(result="failure", output=str(error))
        if answer.fault:
            return Answer(result="unknown", output=answer.fault)
        return _judged(answer.code, answer.body.decode(errors="replace"))

    async def _connects(self, request: TcpRequest, timeout_s: float) -> Answer:
        try:
            async with asyncio.timeout(timeout_s):
                _, writer = await dial.connect(request.host, request.port)
        except TimeoutError:
            return Answer(
                result="failure", output=f"dial tcp {host_port(request.host, request.port)}: i/o timeout"
            )
        except Broken as error:
            return Answer(result="failure", output=str(error))
        writer.close()
        return Answer(result="success")

    async def _fault(self, request: HttpRequest, timeout_s: float) -> str:
        progress = Progress()
        try:
            async with asyncio.timeout(timeout_s):
                await exchange.get(request, self._tls, progress)
        except TimeoutError:
            return "" if progress.in_body else f'Get "{progress.url}": {_LATE}'
        except Broken as error:
            return str(error)
        return ""

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return dial.unchecked_tls()


def _judged(code: int, body: str) -> Answer:
    if not 200 <= code < 400:
        # Without the body: it may hold what is not meant for events.
        return Answer(result="failure", output=f"HTTP probe failed with statuscode: {code}")
    if code >= 300:
        return Answer(result="warning", output=f"Probe terminated redirects, Response body: {body}")
    return Answer(result="success", output=body)
