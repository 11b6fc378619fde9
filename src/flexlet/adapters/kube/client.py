"""The Cluster port over HTTPS.

One session per client; it must be made and closed inside the running loop (``async with``). No aiohttp exception
leaves this file: connection trouble becomes an ApiError with code 503, so that callers retry in one way.

Credentials may change while the client is in use (`renew`): connections made with the old ones are closed, because
a connection keeps the identity of its handshake. Who was waiting on one sees a 503 and comes again.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp

from flexlet.adapters.kube import kubeconfig, requests
from flexlet.adapters.kube.pace import Pace
from flexlet.adapters.kube.session import connected
from flexlet.api import status
from flexlet.ports.cluster import Change, Listing, Ref

_PAGE = 500


class HttpCluster:
    """A Kubernetes API reached with the credentials of a kubeconfig."""

    def __init__(
        self, credentials: kubeconfig.Credentials, user_agent: str = "flexlet", pace: Pace | None = None
    ) -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._pace = pace
        self._session: aiohttp.ClientSession | None = None
        self._open_responses: set[aiohttp.ClientResponse] = set()

    async def __aenter__(self) -> Self:
        self._session = connected(self._credentials, self._user_agent)
        return self

    async def renew(self, credentials: kubeconfig.Credentials) -> None:
        """Go on with other credentials, on new connections."""
        old, self._credentials = self._session, credentials
        self._session = connected(self._credentials, self._user_agent)
        # Closing the session alone would leave those who read a stream waiting for ever.
        for response in tuple(self._open_responses):
            response.close()
        if old is not None:
            await old.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        """One object."""
        return await self._call("GET", requests.path(ref, namespace, name))

    async def read(self, path: str) -> bytes:
        """What lies at any other path, such as ``/version``."""
        return await self._call("GET", path)

    async def list(
        self, ref: Ref, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Listing:
        """All objects, fetched in pages of the same version."""
        query = requests.selectors(label_selector, field_selector) | {"limit": str(_PAGE)}
        items: list[bytes] = []
        while True:
            page = requests.listing(await self._call("GET", requests.path(ref, namespace), query))
            items += requests.typed_items(page)
            if not page.metadata.continue_:
                return Listing(tuple(items), page.metadata.resource_version)
            query["continue"] = page.metadata.continue_

    async def watch(
        self,
        ref: Ref,
        resource_version: str,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Sequence[Change]]:
        """Changes as they come; the end of the stream is the end of the iterator."""
        query = requests.selectors(label_selector, field_selector)
        query |= {"watch": "true", "resourceVersion": resource_version, "allowWatchBookmarks": "true"}
        buffer = requests.LineBuffer()
        async with self._open("GET", requests.path(ref, namespace), query, timeout_s=None) as response:
            async for data, _ in response.content.iter_chunks():
                found = requests.changes(buffer.feed(data))
                if found:
                    yield found

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        """POST a new object, or to a subresource."""
        name, _, subresource = path.partition("/")
        return await self._call("POST", requests.path(ref, namespace, name, subresource), body=body)

    async def patch(
        self,
        ref: Ref,
        namespace: str,
        name: str,
        patch: Any,
        *,
        kind: str = "merge",
        subresource: str = "",
    ) -> bytes:
        """PATCH an object or subresource."""
        where = requests.path(ref, namespace, name, subresource)
        return await self._call("PATCH", where, body=patch, content_type=requests.PATCH_TYPES[kind])

    async def update(
        self, ref: Ref, namespace: str, name: str, body: dict[str, Any], *, subresource: str = ""
    ) -> bytes:
        """PUT the whole object."""
        return await self._call("PUT", requests.path(ref, namespace, name, subresource), body=body)

    async def delete(self, ref: Ref, namespace: str, name: str, options: dict[str, Any] | None = None) -> None:
        """DELETE an object."""
        await self._call("DELETE", requests.path(ref, namespace, name), body=options)

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        content_type: str = "application/json",
    ) -> bytes:
        async with self._open(method, path, query, body=body, content_type=content_type) as response:
            return await response.read()

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Any = None,
        content_type: str = "application/json",
        timeout_s: float | None = 60,
    ) -> "_Exchange":
        data = None if body is None else requests.encode(body)

        def start() -> Any:
            if self._session is None:
                raise RuntimeError("use the client inside `async with`")
            return self._session.request(
                method,
                self._credentials.server + path,
                params=query,
                data=data,
                headers={"Content-Type": content_type} if data is not None else None,
                server_hostname=self._credentials.server_name or None,
                timeout=aiohttp.ClientTimeout(total=timeout_s, connect=10),
            )

        what = f"{method} {self._credentials.server}{path}"
        return _Exchange(start, what, self._pace, self._open_responses)


class _Exchange:
    """One request; failures of the wire and answers of 400 and above both leave as ApiError."""

    def __init__(
        self, start: Callable[[], Any], what: str, pace: Pace | None, opened: set[aiohttp.ClientResponse]
    ) -> None:
        self._start = start
        self._what = what
        self._pace = pace
        self._opened = opened
        self._request: Any = None
        self._response: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> aiohttp.ClientResponse:
        if self._pace is not None:
            await self._pace.turn()
        self._request = self._start()
        try:
            response: aiohttp.ClientResponse = await self._request.__aenter__()
            if response.status < 400:
                self._response = response
                self._opened.add(response)
                return response
            body = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        await self._request.__aexit__(None, None, None)
        raise status.error_of(status.decode(body, response.status))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            self._opened.discard(self._response)
        await self._request.__aexit__(kind, error, trace)
        if isinstance(error, aiohttp.ClientError | TimeoutError):
            raise self._unreachable(error) from error

    def _unreachable(self, error: BaseException) -> status.ApiError:
        return status.failure(
            503, "ServiceUnavailable", f"{self._what} failed: {str(error) or type(error).__name__}"
        )
