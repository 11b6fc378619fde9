"""The node's endpoint: what it shows, to whom, and with which certificate."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from flexlet.adapters.nodeserver.endpoint import Endpoint, Settings
from flexlet.adapters.nodeserver.server import NodeServer
from flexlet.adapters.nodeserver.tls import serving_context
from flexlet.apps import nodecredentials
from flexlet.apps.agent.options import AgentOptions
from flexlet.apps.nodecredentials import ServingPair
from flexlet.core.kubeletconfig import tls, uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.engine.certificates import Keeper
from flexlet.errors import ConfigError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster


def settings(options: AgentOptions, config: KubeletConfiguration, port: int) -> Settings:
    """The parts of the configuration that are about the endpoint."""
    webhook, authorization = config.authentication.webhook, config.authorization
    return Settings(
        node_name=options.name,
        address=config.address,
        port=port,
        health_address=config.healthz_bind_address,
        health_port=config.healthz_port,
        allows_anonymous=config.authentication.anonymous.enabled,
        reviews_tokens=webhook.enabled,
        authorizes=authorization.mode == "Webhook",
        token_s=float(webhook.cache_ttl),
        allowed_s=float(authorization.webhook.cache_authorized_ttl),
        denied_s=float(authorization.webhook.cache_unauthorized_ttl),
        debugging_handlers=config.enable_debugging_handlers,
        system_log_handler=config.enable_system_log_handler,
    )


def shown(config: KubeletConfiguration) -> bytes:
    """What ``/configz`` tells."""
    return msgspec.json.encode(uses.to_configz(config)["kubeletconfig"])


class Serving:
    """The endpoint on its ports, and its certificate, be it given, self-signed or got from the cluster."""

    def __init__(self, options: AgentOptions, config: KubeletConfiguration, clock: Clock) -> None:
        self._options = options
        self._config = config
        self._clock = clock
        self._pair = nodecredentials.serving_pair(config, options.root / "pki", options.name, clock)
        self._server: NodeServer | None = None

    def open(self, endpoint_settings: Settings, endpoint: Endpoint) -> NodeServer:
        """Bind; ConfigError if that cannot be."""
        self._server = NodeServer.open(endpoint_settings, endpoint, self._context(self._pair))
        return self._server

    def close(self) -> None:
        """Let the ports go."""
        if self._server is not None:
            self._server.close()

    def keeper(self, cluster: Cluster, node: Callable[[], dict[str, Any] | None]) -> Keeper | None:
        """Gets and renews the certificate, if the cluster is to give one.

        It is asked for when the API knows the addresses of the `node`: whoever approves compares them.
        """
        return nodecredentials.serving_keeper(
            self._pair,
            cluster,
            self._options.name,
            lambda: _addresses(node()),
            self._renewed,
            self._clock,
        )

    async def _renewed(self, path: str) -> None:
        pair = ServingPair(Path(path), Path(path))
        context = await asyncio.to_thread(self._context, pair)
        if self._server is not None and context is not None:
            self._server.reload(context)

    def _context(self, pair: ServingPair) -> ssl.SSLContext | None:
        """None while there is no certificate; handshakes fail until there is."""
        if pair.store is not None and not pair.certificate.exists():
            return None
        authority = self._config.authentication.x509.client_ca_file
        try:
            parts = (pair.certificate.read_bytes(), pair.key.read_bytes())
            trusted = Path(authority).read_bytes() if authority else b""
        except OSError as error:
            raise ConfigError(
                f"cannot read {error.filename}: {error.strerror}; check tlsCertFile, tlsPrivateKeyFile and "
                "authentication.x509.clientCAFile"
            ) from error
        return restricted(serving_context(*parts, trusted), self._config)


def restricted(context: ssl.SSLContext, config: KubeletConfiguration) -> ssl.SSLContext:
    """The context with the versions and suites that the configuration allows."""
    context.minimum_version = ssl.TLSVersion[tls.VERSIONS[config.tls_min_version]]
    ciphers = tls.openssl_ciphers(config.tls_cipher_suites)
    if ciphers:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError as error:
            raise ConfigError(f"tlsCipherSuites: OpenSSL on this host has none of {ciphers}") from error
    return context


def _addresses(node: dict[str, Any] | None) -> list[tuple[str, str]]:
    found = [] if node is None else node.get("status", {}).get("addresses") or []
    return [(each["type"], each["address"]) for each in found]
