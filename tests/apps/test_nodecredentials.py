"""A node joins a real server over HTTPS, works under its own name, and renews what it holds."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.pki import keys
from flexlet.adapters.pki.pairs import CLIENT, PairFiles
from flexlet.api.status import ApiError, Forbidden
from flexlet.apiserver import joining
from flexlet.apiserver.auth.kubeconfig import kubeconfig as kubeconfig_with
from flexlet.apiserver.server import ApiServer, Settings, serving
from flexlet.apps import nodecredentials
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.engine.certificates import Keeper
from flexlet.errors import ConfigError
from flexlet.ports.cluster import NODES

DAY = 86400.0
UNUSED: Any = None
CLOCK = SystemClock()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    async with serving(Settings(data=tmp_path / "data", names=("10.0.2.2",)), CLOCK) as running:
        yield running


class Node:
    """The files of a node that wants to join."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.config = directory / "kubeconfig"
        self.bootstrap = directory / "bootstrap-kubeconfig"
        self.pki = directory / "pki"

    async def load(self, *, rotate: bool = True) -> nodecredentials.NodeCredentials:
        bootstrap = self.bootstrap if self.bootstrap.exists() else None
        return await nodecredentials.load_credentials(self.config, bootstrap, self.pki, "n1", CLOCK, rotate=rotate)

    def serial(self) -> bytes:
        """The pair that is current."""
        return (self.pki / "kubelet-client-current.pem").read_bytes()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "node")


def body(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


async def until(happened: Any) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110  a server and a keeper, and no event of ours
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(keeper: Keeper) -> AsyncIterator[None]:
    task = asyncio.create_task(keeper.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_node_joins_with_a_bootstrap_token(server: ApiServer, node: Node) -> None:
    """Token, request, approval, certificate; then the node may do what nodes may, and nothing else."""
    node.bootstrap.write_bytes(await joining.bootstrap_kubeconfig(server, server.url))
    loaded = await node.load()
    config = msgspec.yaml.decode(node.config.read_bytes())
    pair = str(node.pki / "kubelet-client-current.pem")
    assert config["users"] == [{"name": "default-auth", "user": {"client-certificate": pair, "client-key": pair}}]
    assert (loaded.credentials.token, loaded.credentials.certificate) == ("", node.serial())
    async with HttpCluster(loaded.credentials) as cluster:
        made = msgspec.json.decode(await cluster.create(NODES, "", body("n1")))
        assert made["metadata"]["name"] == "n1"
        with pytest.raises(Forbidden, match='node "n1" is not allowed to modify node "n2"'):
            await cluster.create(NODES, "", body("n2"))


async def test_a_second_start_needs_no_token(server: ApiServer, node: Node) -> None:
    """The kubeconfig that the first start wrote is used; the bootstrap file is not even read."""
    node.bootstrap.write_bytes(await joining.bootstrap_kubeconfig(server, server.url))
    first = await node.load()
    node.bootstrap.write_text("rubbish")
    assert await node.load(rotate=False) == nodecredentials.NodeCredentials(first.credentials)


async def test_an_ended_certificate_is_bootstrapped_anew(server: ApiServer, node: Node) -> None:
    store = PairFiles(node.pki, CLIENT, CLOCK.now)
    old = server.pki.client("system:node:n1", ["system:nodes"], time.time() - 400 * DAY)
    await store.save(old.certificate_pem, old.key_pem)
    credentials = kubeconfig.Credentials(server=server.url, ca=server.pki.ca_pem.encode())
    node.config.write_bytes(kubeconfig.node_config(credentials, Path(store.path)))
    assert not nodecredentials.is_usable(node.config, time.time())
    node.bootstrap.write_bytes(await joining.bootstrap_kubeconfig(server, server.url))
    loaded = await node.load()
    async with HttpCluster(loaded.credentials) as cluster:
        assert await cluster.create(NODES, "", body("n1"))


async def test_a_token_that_nobody_knows_keeps_the_node_out(server: ApiServer, node: Node) -> None:
    good = (await joining.bootstrap_kubeconfig(server, server.url)).decode()
    token = good.split("token: ")[1].split()[0].strip('"')
    node.bootstrap.write_text(good.replace(token, "abcdef.0123456789abcdef"))
    with pytest.raises(
        ConfigError, match=r"^the bootstrap credentials are refused: .*; get a new bootstrap token"
    ):
        await node.load()
    assert not node.config.exists()


async def test_a_client_goes_on_with_the_renewed_certificate(server: ApiServer, node: Node) -> None:
    """A kubeconfig's own pair moves into the pki directory, is renewed there, and the old one is let go."""
    await joining.allow(server.cluster)
    old = server.pki.client("system:node:n1", ["system:nodes"], time.time() - 340 * DAY)
    node.config.write_text(kubeconfig_with(server.url, server.pki.ca_pem, "system:node:n1", old))
    loaded = await node.load()
    before = node.serial()
    assert before == old.certificate_pem + old.key_pem
    async with HttpCluster(loaded.credentials) as cluster:
        await cluster.create(NODES, "", body("n1"))
        watch = asyncio.create_task(_watched(cluster))
        keeper = nodecredentials.client_keeper(loaded, cluster, "n1", CLOCK)
        assert keeper is not None
        async with running(keeper):
            await until(lambda: keeper.statistics().renewals == 1)
            assert node.serial() != before
            # Whoever had a stream on the old connection is told to come again, and can.
            assert (await watch) == 503
            assert await cluster.get(NODES, "", "n1")
    assert (await node.load()).credentials.certificate == node.serial()


async def _watched(cluster: HttpCluster) -> int:
    try:
        async for _ in cluster.watch(NODES, "1", field_selector="metadata.name=n1"):
            pass
    except ApiError as error:
        return error.code
    return 0


async def test_a_node_gets_its_serving_certificate_from_the_cluster(server: ApiServer, node: Node) -> None:
    """With ``serverTLSBootstrap``: for the addresses that its Node reports, and as soon as it reports them."""
    node.config.write_bytes(joining.node_kubeconfig(server, "n1", server.url))
    loaded = await node.load(rotate=False)
    config = KubeletConfiguration(server_tls_bootstrap=True)
    pair = await asyncio.to_thread(nodecredentials.serving_pair, config, node.pki, "n1", CLOCK)
    assert pair.store is not None
    told: list[str] = []

    async def tell(path: str) -> None:
        told.append(path)

    addresses = [("InternalIP", "10.9.8.7"), ("Hostname", "n1")]
    async with HttpCluster(loaded.credentials) as cluster:
        await cluster.create(NODES, "", body("n1"))
        keeper = nodecredentials.serving_keeper(pair, cluster, "n1", lambda: addresses, tell, CLOCK)
        assert keeper is not None
        async with running(keeper):
            await asyncio.sleep(0.1)
            assert told == []
            reported = [{"type": kind, "address": address} for kind, address in addresses]
            patch = {"status": {"addresses": reported}}
            await cluster.patch(NODES, "", "n1", patch, kind="strategic", subresource="status")
            await until(lambda: told)
    assert told == [str(pair.certificate)]
    assert keeper.held is not None
    assert (keeper.held.dns_names, keeper.held.ips) == (("n1",), ("10.9.8.7",))
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(pair.certificate, pair.key)


async def test_nodes_reach_the_server_under_further_names(server: ApiServer) -> None:
    """A machine of its own knows this host as 10.0.2.2."""
    config = msgspec.yaml.decode(joining.node_kubeconfig(server, "n1", "https://10.0.2.2:6443"))
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.2.2:6443"
    credential = server.pki.serving
    assert "10.0.2.2" in keys.facts(credential.certificate_pem, credential.key_pem, "serving").ips


async def test_joining_is_allowed_by_three_bindings_and_only_when_asked_for(server: ApiServer) -> None:
    """A server by itself has the bindings that upstream's has; allowing twice is no harm."""
    held = {item["metadata"]["name"] for item in await _bindings(server)}
    assert held & set(joining.BINDINGS) == set()
    for _ in range(2):
        await joining.allow(server.cluster)
        assert {item["metadata"]["name"] for item in await _bindings(server)} - held == set(joining.BINDINGS)


async def _bindings(server: ApiServer) -> list[Any]:
    listing = await server.cluster.list(joining._ROLE_BINDINGS)
    return [msgspec.json.decode(raw) for raw in listing.items]


def test_the_endpoint_shows_configured_files_or_signs_itself(tmp_path: Path) -> None:
    files = KubeletConfiguration(tls_cert_file="/c", tls_private_key_file="/k")
    assert nodecredentials.serving_pair(files, tmp_path, "n1", CLOCK) == nodecredentials.ServingPair(
        Path("/c"), Path("/k")
    )
    own = nodecredentials.serving_pair(KubeletConfiguration(), tmp_path, "n1", CLOCK)
    assert own == nodecredentials.ServingPair(tmp_path / "kubelet.crt", tmp_path / "kubelet.key")
    assert nodecredentials.serving_keeper(own, UNUSED, "n1", list, UNUSED, CLOCK) is None
    both = msgspec.structs.replace(files, server_tls_bootstrap=True)
    asked = nodecredentials.serving_pair(both, tmp_path, "n1", CLOCK)
    assert (asked.certificate, asked.key) == (Path("/c"), Path("/k"))
    assert asked.store is not None
