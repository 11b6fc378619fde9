"""With what a node speaks to the API server, and what its endpoint shows.

Files, requests and renewal brought together by the kubelet's rules: a usable kubeconfig is used; otherwise the
bootstrap kubeconfig gets the node a certificate, and a kubeconfig that names the file of the current pair. With
``rotateCertificates`` that pair is kept current; a pair that lies in the kubeconfig itself is put there first,
because files can be renewed and kubeconfigs not.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.adapters.pki import files, selfsigned
from flexlet.adapters.pki.pairs import CLIENT, SERVER, PairFiles
from flexlet.core.certificates import rotation, wanted
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.engine.bootstrap import first_certificate
from flexlet.engine.certificates import Keeper, OnChange
from flexlet.errors import ConfigError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster

PKI: Final = Path("/var/lib/kubelet/pki")
_luck: Final = random.SystemRandom()

Addresses = Callable[[], Iterable[tuple[str, str]]]


class NodeCredentials(msgspec.Struct, frozen=True):
    """What to connect with now, and where the client's pair is kept current (None: it is not)."""

    credentials: Credentials
    store: PairFiles | None = None


class ServingPair(msgspec.Struct, frozen=True):
    """The files that the endpoint shows; with a store they may be missing until its keeper has got them."""

    certificate: Path
    key: Path
    store: PairFiles | None = None


async def load_credentials(
    config: Path, bootstrap_config: Path | None, directory: Path, node: str, clock: Clock, *, rotate: bool
) -> NodeCredentials:
    """The node's credentials; bootstraps if there are none yet, which may take until somebody approves.

    Raises:
        ConfigError: a file cannot be used, or the node is not let in.
    """
    if bootstrap_config is not None and not is_usable(config, clock.now()):
        await bootstrap(bootstrap_config, config, directory, node, clock)
    credentials = kubeconfig.load(config)
    if not rotate or not credentials.certificate:
        return NodeCredentials(credentials)
    store = PairFiles(directory, CLIENT, clock.now)
    if not rotation.is_valid(await store.load(), clock.now()):
        await store.save(credentials.certificate, credentials.key)
    return NodeCredentials(await asyncio.to_thread(current, credentials, store.path), store)


async def bootstrap(bootstrap_config: Path, config: Path, directory: Path, node: str, clock: Clock) -> None:
    """Get the node's first certificate, and write the kubeconfig that refers to it."""
    credentials = kubeconfig.load(bootstrap_config)
    store = PairFiles(directory, CLIENT, clock.now)
    async with HttpCluster(credentials, "flexlet-bootstrap") as cluster:
        await first_certificate(cluster, clock, store, wanted.client(node))
    text = kubeconfig.node_config(credentials, Path(store.path))
    try:
        await asyncio.to_thread(files.write, config, text)
    except OSError as error:
        raise ConfigError(f"cannot write the kubeconfig {config}: {error}") from error


def is_usable(config: Path, now: float) -> bool:
    """Whether a kubeconfig is there, can be read and holds a certificate that has not ended."""
    from flexlet.adapters.pki import keys

    try:
        credentials = kubeconfig.load(config)
        held = keys.facts(credentials.certificate, credentials.key, str(config))
    except ConfigError:
        return False
    return rotation.is_valid(held, now)


def current(credentials: Credentials, path: str) -> Credentials:
    """The same credentials with the pair that is in the file now."""
    pair = Path(path).read_bytes()
    return msgspec.structs.replace(credentials, certificate=pair, key=pair, token="")


def client_keeper(loaded: NodeCredentials, cluster: HttpCluster, node: str, clock: Clock) -> Keeper | None:
    """Renews the client's pair and lets the cluster client go on with it; None where it is not renewed."""
    if loaded.store is None:
        return None

    async def follow(path: str) -> None:
        await cluster.renew(await asyncio.to_thread(current, loaded.credentials, path))

    template = wanted.client(node)
    return Keeper(cluster, clock, loaded.store, lambda: template, on_change=follow, chance=_luck.random)


def serving_keeper(
    pair: ServingPair, cluster: Cluster, node: str, addresses: Addresses, on_change: OnChange, clock: Clock
) -> Keeper | None:
    """Gets and renews the endpoint's pair; call its `wake` when the addresses change. None: it is not renewed.

    `addresses` gives the node's, as (type, address); `on_change` is told when there is a new pair to show.
    """
    if pair.store is None:
        return None
    return Keeper(
        cluster,
        clock,
        pair.store,
        lambda: wanted.serving(node, addresses()),
        on_change=on_change,
        chance=_luck.random,
    )


def serving_pair(config: KubeletConfiguration, directory: Path, host: str, clock: Clock) -> ServingPair:
    """What the endpoint shows: the configured files, else a pair from the cluster, else a self-signed one."""
    if config.server_tls_bootstrap:
        given = (config.tls_cert_file, config.tls_private_key_file) if config.tls_cert_file else None
        store = PairFiles(directory, SERVER, clock.now, given)
        current_pair = Path(store.path)
        if given is not None and not current_pair.exists():
            return ServingPair(Path(given[0]), Path(given[1]), store)
        return ServingPair(current_pair, current_pair, store)
    if config.tls_cert_file:
        return ServingPair(Path(config.tls_cert_file), Path(config.tls_private_key_file))
    return ServingPair(*selfsigned.ensure(directory, host, clock.now()))
