"""Sending requests as they are, and telling an answer from a connection that broke."""

import contextlib
import http.client
from typing import NamedTuple, Self
from urllib.parse import urlencode

from tests.fuzz.corpus import Request

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.kubeconfig import Credentials

http.client._MAXHEADERS = 1000  # type: ignore[attr-defined]
ANSWER_S = 60
STREAM_S = 0.2


class Answer(NamedTuple):
    """What came back; the beginning of it, if it is a stream."""

    status: int
    media: str
    body: bytes


class Wire:
    """One connection at a time, kept as long as both sides like it."""

    def __init__(self, credentials: Credentials) -> None:
        self._context = kubeconfig.ssl_context(credentials)
        self._host = credentials.server.removeprefix("https://")
        self._open: http.client.HTTPSConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def send(self, request: Request) -> Answer | str:
        """The answer, or why there is none."""
        fresh = self._open is None
        try:
            return self._exchange(request)
        except (OSError, http.client.HTTPException) as error:
            self._close()
            # A kept connection may have ended in between; a new one may not.
            return f"{type(error).__name__}: {error}" if fresh else self.send(request)

    def _exchange(self, request: Request) -> Answer:
        if self._open is None:
            self._open = http.client.HTTPSConnection(self._host, context=self._context, timeout=ANSWER_S)
        connection = self._open
        query = urlencode(request.query, errors="surrogatepass")
        target = f"{request.path}?{query}" if query else request.path
        connection.putrequest(request.method, target, skip_accept_encoding=True)
        for name, value in request.headers:
            connection.putheader(name, value)
        if request.body is not None:
            connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body)
        socket = connection.sock
        response = connection.getresponse()
        media = response.getheader("Content-Type", "")
        if response.chunked or response.status == 101:
            socket.settimeout(STREAM_S)
            return Answer(response.status, media, self._beginning(response))
        return Answer(response.status, media, response.read())

    def _beginning(self, response: http.client.HTTPResponse) -> bytes:
        """A stream's first bytes; it is not waited for."""
        connection, self._open = self._open, None
        assert connection is not None
        data = b""
        with contextlib.suppress(TimeoutError, http.client.HTTPException):
            data = response.read1(65536)
        response.close()
        connection.close()
        return data

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
