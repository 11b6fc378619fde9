"""How an operator wants the endpoint to be."""

import msgspec

from flexlet.adapters.nodeserver.authentication import TOKEN_S
from flexlet.adapters.nodeserver.authorization import ALLOWED_S, DENIED_S
from flexlet.core.kubeletconfig.config import KubeletConfiguration


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a KubeletConfiguration that are about the endpoint."""

    node_name: str
    address: str = "0.0.0.0"  # noqa: S104 the API server must reach it
    port: int = 10250
    health_address: str = "127.0.0.1"
    health_port: int = 10248
    """0: none."""
    allows_anonymous: bool = False
    reviews_tokens: bool = True
    authorizes: bool = True
    """Whether to ask the API server what callers may do; otherwise whoever is known may do everything."""
    token_s: float = TOKEN_S
    allowed_s: float = ALLOWED_S
    denied_s: float = DENIED_S
    debugging_handlers: bool = True
    system_log_handler: bool = True
    log_root: str = "/var/log"


def settings_of(config: KubeletConfiguration, node_name: str) -> Settings:
    """What a KubeletConfiguration says of the endpoint, apart from TLS (`tls.serving_context`)."""
    webhook = config.authorization.webhook
    return Settings(
        node_name=node_name,
        address=config.address,
        port=config.port,
        health_address=config.healthz_bind_address,
        health_port=config.healthz_port,
        allows_anonymous=config.authentication.anonymous.enabled,
        reviews_tokens=config.authentication.webhook.enabled,
        authorizes=config.authorization.mode == "Webhook",
        token_s=config.authentication.webhook.cache_ttl,
        allowed_s=webhook.cache_authorized_ttl,
        denied_s=webhook.cache_unauthorized_ttl,
        debugging_handlers=config.enable_debugging_handlers,
        system_log_handler=config.enable_system_log_handler,
    )
