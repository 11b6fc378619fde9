"""What the commands that run an API server can be told about it: ``flexlet server`` and ``flexlet up``."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flexlet.cli import address
from flexlet.cli.auditoptions import audit_options, audit_settings
from flexlet.core import gates

if TYPE_CHECKING:
    from flexlet.apiserver.server import Settings

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

_OPTIONS = (
    click.option("--feature-gates", default="", metavar="A=true,B=false", help="Switch features on or off."),
    click.option(
        "--encryption-provider-config",
        "encryption",
        type=_FILE,
        help="An EncryptionConfiguration file: which resources are encrypted in the data, and by which keys.",
    ),
    click.option(
        "--node-host",
        "node_hosts",
        multiple=True,
        metavar="NAME=HOST",
        help="Reach a node at HOST and not at the address it reports; needed for addresses of this machine.",
    ),
    click.option(
        "--kubelet-certificate-authority",
        "kubelet_ca",
        type=_FILE,
        help="Who signs the serving certificates of nodes; the default is the server's own authority.",
    ),
)


def api_options(function: _Function) -> _Function:
    """Options that `api_settings` reads."""
    function = audit_options(function)
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def api_settings(data: Path, listen: str, options: Mapping[str, Any]) -> "Settings":
    """The options as the server takes them."""
    from flexlet.apiserver.encryptionconfig import load_encryption
    from flexlet.apiserver.server import Settings
    from flexlet.apiserver.store.encryption import PLAIN

    host, port = address.parse(listen)
    return Settings(
        data=data,
        host=host,
        port=port,
        gates=gates.parse(options["feature_gates"]),
        encryption=PLAIN if options["encryption"] is None else load_encryption(options["encryption"]),
        node_hosts=address.node_hosts(options["node_hosts"]),
        kubelet_ca=options["kubelet_ca"],
        audit=audit_settings(options),
    )
