"""The aiohttp session that every client of an API server uses: its TLS, its credentials, its name."""

from collections.abc import Sequence

import aiohttp

from flexlet.adapters.kube import kubeconfig


def connected(
    credentials: kubeconfig.Credentials,
    user_agent: str,
    middlewares: Sequence[aiohttp.ClientMiddlewareType] = (),
) -> aiohttp.ClientSession:
    """A session; it must be made and closed inside the running loop."""
    https = credentials.server.startswith("https")
    context = kubeconfig.ssl_context(credentials) if https else False
    headers = {"User-Agent": user_agent, "Accept": "application/json"}
    if credentials.token:
        headers["Authorization"] = f"Bearer {credentials.token}"
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    return aiohttp.ClientSession(connector=connector, headers=headers, middlewares=middlewares)
