"""A few plain pages over HTTP: metrics for Prometheus, and a sign of life."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from aiohttp import web

from flexlet.errors import ConfigError

Page = Callable[[], str]


@contextlib.asynccontextmanager
async def serving(host: str, port: int, pages: Mapping[str, Page]) -> AsyncIterator[int]:
    """Serve the pages for as long as the block lasts; gives the port."""
    app = web.Application()
    for path, page in pages.items():
        app.router.add_get(path, _handler(page))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    try:
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _handler(page: Page) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=page(), content_type="text/plain", charset="utf-8")

    return answer
