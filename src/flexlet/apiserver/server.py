"""One API server put together: store, kinds, authentication, admission, pipeline, HTTP.

Nothing is decided here; this is the list of parts and the order in which they start and stop. What must stay true:
a server that answers ``/readyz`` has its first objects stored, and `close` leaves the data file complete.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from flexlet.apiserver.auth.accounttokens import AccountTokens
from flexlet.apiserver.auth.authenticate import Authenticator
from flexlet.apiserver.auth.authorize import Authorizer, new_authorizer
from flexlet.apiserver.auth.bootstraptokens import BootstrapTokens
from flexlet.apiserver.auth.jwt import KeyRing
from flexlet.apiserver.auth.kubeconfig import kubeconfig
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.apiserver.auth.podgraph import PodGraph
from flexlet.apiserver.contract.admission import Plugin
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.http.discovery import Discovery
from flexlet.apiserver.http.front import Front
from flexlet.apiserver.http.health import Health
from flexlet.apiserver.http.listener import Listener
from flexlet.apiserver.http.pages import Pages
from flexlet.apiserver.http.resources import Resources
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.apiserver.rest.registry import Registry
from flexlet.apiserver.store.store import Store

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
ADMIN: Final = "kubernetes-admin"
DATABASE: Final = "flexlet.db"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the data lies and where to listen; port 0 picks one."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 0
    clock: Callable[[], float] = time.time


class ApiServer:
    """A running server."""

    def __init__(self, settings: Settings, pki: Pki, store: Store, rest: Rest, listener: Listener) -> None:
        self._settings = settings
        self._pki = pki
        self._store = store
        self._listener = listener
        self.rest = rest

    @classmethod
    async def open(
        cls, settings: Settings, kinds: Iterable[Kind], plugins: Sequence[Plugin] = ()
    ) -> "ApiServer":
        """Start one.

        Raises:
            ConfigError: the data is in use or damaged, or the address cannot be bound.
        """
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = await Store.open(settings.data / DATABASE)
        try:
            pki = open_pki(settings.data / "pki", [settings.host], settings.clock())
            rest = Rest(store, Registry(kinds), plugins, settings.clock)
            front = _front(settings, pki, rest)
            tls = pki.server_context()
            listener = await Listener.open(front.handle, settings.host, settings.port, tls)
        except BaseException:
            await store.close()
            raise
        return cls(settings, pki, store, rest, listener)

    @property
    def url(self) -> str:
        """Where clients find it."""
        host = self._settings.host
        return f"https://{f'[{host}]' if ':' in host else host}:{self._listener.port}"

    def kubeconfig(self) -> str:
        """A complete kubeconfig of the administrator."""
        credential = self._pki.client(ADMIN, ["system:masters"], self._settings.clock())
        return kubeconfig(self.url, self._pki.ca_pem, ADMIN, credential)

    async def close(self) -> None:
        """Stop: watches end, requests under way finish, then the store closes."""
        for kind in self.rest.registry.kinds():
            self._store.end_watches(kind.storage_bucket)
        await self._listener.close()
        await self._store.close()


def _front(settings: Settings, pki: Pki, rest: Rest) -> Front:
    view, audiences = rest.backend.view, (ISSUER,)
    tokens = AccountTokens(ISSUER, KeyRing([pki.token_key.public_key()]), view)
    checkers = (tokens, BootstrapTokens(view, audiences))
    authenticator = Authenticator(checkers, audiences, settings.clock)
    pages = Pages(Discovery(rest.registry), Health({"store": lambda: ""}))
    return Front(Resources(rest, settings.clock), pages, authenticator, _authorizer(rest))


def _authorizer(rest: Rest) -> Authorizer:
    graph, store = PodGraph(), rest.backend.store
    for row in store.list("pods"):
        graph.observe("ADDED", row.key, row.value)
    store.subscribe("pods", lambda event: graph.observe(event.type, event.row.key, event.row.value))
    return new_authorizer(rest.backend.view, Versions(store), graph, ())


class Versions:
    """Counts the changes of a bucket from the first time it is asked about."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: dict[str, int] = {}

    def __call__(self, bucket: str) -> int:
        """How often the bucket changed."""
        if bucket not in self._counts:
            self._counts[bucket] = 0
            self._store.subscribe(bucket, lambda _event: self._count(bucket))
        return self._counts[bucket]

    def _count(self, bucket: str) -> None:
        self._counts[bucket] += 1
