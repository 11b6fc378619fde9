"""One API server put together: store, kinds, identities, admission, pipeline, HTTP, upkeep.

Nothing is decided here; this is the list of parts and the order in which they start and stop. What must stay true:
a server that listens has its first objects stored, and one that has stopped leaves the data file complete.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from flexlet.api import decode, status
from flexlet.api.pod import Pod
from flexlet.apiserver import control, datadirectory, endpoints, identities
from flexlet.apiserver.admission.chain import default_plugins
from flexlet.apiserver.audit.auditor import Auditor, AuditSettings, open_auditor
from flexlet.apiserver.auth.escalation import RbacEscalation
from flexlet.apiserver.auth.kubeconfig import kubeconfig
from flexlet.apiserver.auth.kubeletclient import KubeletClient
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.apiserver.contract.kind import Object, object_key
from flexlet.apiserver.crd.definitioncheck import DefinitionCheck
from flexlet.apiserver.firstobjects import FirstObjects
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apiserver.http import answers
from flexlet.apiserver.http.discovery import Discovery
from flexlet.apiserver.http.exchange import Exchange
from flexlet.apiserver.http.front import Front
from flexlet.apiserver.http.health import Health
from flexlet.apiserver.http.listener import Listener
from flexlet.apiserver.http.metrics import Metrics
from flexlet.apiserver.http.openapi import OpenApi
from flexlet.apiserver.http.pages import Pages
from flexlet.apiserver.http.resources import Resources
from flexlet.apiserver.http.streams import Streams
from flexlet.apiserver.http.turns import Turns
from flexlet.apiserver.http.wire import Wire
from flexlet.apiserver.identities import Identities
from flexlet.apiserver.kinds.certificate.requester import CertificateRequester
from flexlet.apiserver.kinds.table import builtin_kinds
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.proxy.pods import SUBRESOURCES, PodProxy
from flexlet.apiserver.proxy.trust import NodeTrust, load_authorities
from flexlet.apiserver.rest import finished
from flexlet.apiserver.rest.backend import Backend, StoreView
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.apiserver.rest.registry import Registry
from flexlet.apiserver.rest.update import MODIFIED
from flexlet.apiserver.store.encryption import PLAIN, Encryption
from flexlet.apiserver.store.errors import RevisionMismatch
from flexlet.apiserver.store.store import Options, Store
from flexlet.apiserver.upkeep import keep_up
from flexlet.core.faults import Faults
from flexlet.core.gates import Gates
from flexlet.core.scheduling import exposition, pending
from flexlet.ports.clock import Clock

ADMIN: Final = "admin"
DATABASE: Final = "flexlet.db"
QUOTAS: Final = "resourcequotas"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the data lies, where to listen (port 0 picks one), which features are on."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 0
    gates: Gates = Gates()
    names: tuple[str, ...] = ()
    """Further names and addresses under which clients reach the server; its certificate covers them."""
    encryption: Encryption = PLAIN
    """What is encrypted in the data file, and by which keys."""
    node_hosts: dict[str, str] = {}
    """Nodes that this server reaches under another address than they give themselves, on this machine maybe."""
    kubelet_ca: Path | None = None
    """Who signs the serving certificates of nodes, if not the server's own authority."""
    wire: Wire = Wire()
    """How slow clients may be, and how much they may have at once."""
    audit: AuditSettings = AuditSettings()


class ApiServer(msgspec.Struct, frozen=True):
    """A running server."""

    settings: Settings
    clock: Clock
    pki: Pki
    rest: Rest
    url: str
    faults: Faults
    """What went wrong with single objects, in any loop of this process; shown in /metrics."""

    @property
    def cluster(self) -> LocalCluster:
        """The server's API for parts of the same process."""
        return LocalCluster(self.rest)

    def kubeconfig(self) -> str:
        """A complete kubeconfig of the administrator."""
        credential = self.pki.client(ADMIN, ["system:masters"], self.clock.now())
        return kubeconfig(self.url, self.pki.ca_pem, ADMIN, credential)


@asynccontextmanager
async def serving(settings: Settings, clock: Clock) -> AsyncIterator[ApiServer]:
    """Run a server for as long as the context is open.

    Raises:
        ConfigError: the data is in use or damaged, or the address cannot be bound.
    """
    datadirectory.secure(settings.data)
    store = await Store.open(settings.data / DATABASE, Options(encryption=settings.encryption))
    try:
        pki = open_pki(settings.data / datadirectory.KEYS, [settings.host, *settings.names], clock.now())
        datadirectory.secure(settings.data)  # a new database has the mode of the umask
        who = identities.assemble(store, StoreView(store), pki, clock.now)
        rest = pipeline(settings, clock, store, who)
        await FirstObjects(rest.backend, pki.ca_pem).bootstrap()
        faults = Faults()
        definitions = Definitions(rest, LocalCluster(rest), clock, faults)
        await definitions.load()
        async with (
            control.listening(settings.data, store, settings.encryption),
            _listening(settings, clock, pki, rest, who, definitions, faults) as server,
        ):
            yield server
    finally:
        await store.close()


def pipeline(settings: Settings, clock: Clock, store: Store, who: Identities) -> Rest:
    """The API without a wire: what is served, and who has a say in what is stored."""
    registry = Registry(builtin_kinds(settings.gates.enabled, clock.now))
    *plugins, quota = default_plugins(
        settings.gates.enabled,
        authorizer=who.authorizer,
        quota_writer=QuotaStatus(store, registry),
        clock=clock,
        source=random.Random(),  # noqa: S311  names of volumes are no secrets
    )
    # Quota counts last, and only what everybody else lets through.
    admission = (CertificateRequester(), *plugins, RbacEscalation(who.authorizer), DefinitionCheck(), quota)
    rest = Rest(Backend(store, registry, admission, clock.now))
    endpoints.register(rest, who.reviews, who.tokens)
    return rest


@asynccontextmanager
async def _listening(
    settings: Settings,
    clock: Clock,
    pki: Pki,
    rest: Rest,
    who: Identities,
    definitions: Definitions,
    faults: Faults,
) -> AsyncIterator[ApiServer]:
    resources = Resources(rest, clock.now, Streams(settings.wire.stall_s, settings.wire.unread_bytes))
    proxy = PodProxy(rest.backend.view, _to_nodes(settings, pki, clock), settings.node_hosts)
    for name in SUBRESOURCES:
        resources.connections["", "pods", name] = proxy.serve
    auditor = await asyncio.to_thread(open_auditor, settings.audit, clock)
    metrics = Metrics(settings.gates.enabled)
    front = _front(settings, resources, who, metrics, faults, auditor)
    context = pki.server_context()
    listener = await Listener.open(front.handle, settings.host, settings.port, context, settings.wire)
    metrics.closed = lambda: listener.connections.closed
    proxy.own_port = listener.port
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    server = ApiServer(settings, clock, pki, rest, f"https://{host}:{listener.port}", faults)
    try:
        async with _one_error(), asyncio.TaskGroup() as group:
            upkeep = group.create_task(
                keep_up(server.cluster, rest.registry, pki, settings.gates, clock, definitions, faults),
                name="upkeep",
            )
            yield server
            upkeep.cancel()
    finally:
        for kind in rest.registry.kinds():
            rest.backend.store.end_watches(kind.storage_bucket)
        await listener.close()
        await proxy.close()
        if auditor is not None:
            await asyncio.to_thread(auditor.close)


@asynccontextmanager
async def _one_error() -> AsyncIterator[None]:
    """Let a lone error out of its group: whoever runs the server is told what happened, not how we run."""
    try:
        yield
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from None
        raise


def _to_nodes(settings: Settings, pki: Pki, clock: Clock) -> NodeTrust:
    """How nodes are known, and who we are to them."""
    client = KubeletClient(pki, clock.now)
    if settings.kubelet_ca is None:
        return NodeTrust(pki.ca_pem, client.pair)
    return NodeTrust(load_authorities(settings.kubelet_ca), client.pair, is_cluster_ca=False)


def _front(
    settings: Settings,
    resources: Resources,
    who: Identities,
    metrics: Metrics,
    faults: Faults,
    auditor: Auditor | None,
) -> Front:
    rest = resources.rest
    store = rest.backend.store
    turns = Turns(settings.wire)
    metrics.refused = lambda: turns.refused
    pages = Pages(Discovery(rest.registry), Health({"store": lambda: store.trouble}), OpenApi(rest.registry))

    def show_metrics(exchange: Exchange) -> web.Response:
        texts = (row.value for row in store.list("pods"))
        if exchange.path.parts == ("metrics", "resources"):
            return answers.plain(exposition.render(decode.from_json(text, Pod) for text in texts))
        waiting = (decode.from_json(text, Pod) for text in texts if not pending.is_placed(text))
        counters = {} if auditor is None else auditor.counters()
        told = metrics.text(store.statistics(), counters) + pending.render(waiting) + faults.render()
        return answers.plain(told)

    for path, document in who.openid().items():
        pages.add_document(path, document)
    pages.add("metrics", show_metrics)
    return Front(resources, pages, metrics, who.authenticator, who.authorizer, turns, auditor)


class QuotaStatus:
    """Stores what quotas have used, past admission: it is admission that asks."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    async def write_status(self, quota: Object) -> None:
        """Store the quota with its new status; Conflict if it changed meanwhile."""
        kind = self._registry.stored_in(QUOTAS)
        metadata = quota["metadata"]
        key = object_key(metadata["namespace"], metadata["name"])
        if kind is None:
            return
        try:
            await self._store.update(
                QUOTAS,
                key,
                int(metadata["resourceVersion"]),
                lambda revision: finished.encode(kind, quota, revision),
            )
        except RevisionMismatch:
            raise status.conflict(QUOTAS, "", metadata["name"], MODIFIED) from None
