"""Where the API server is and who we are to it, from a kubeconfig file.

Certificates may be embedded (``*-data``) or named by path, relative to the file. Plugins that fetch credentials
(``exec``, ``auth-provider``) are refused by name: going on without them would end in a 401 that nobody expects.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flexlet.errors import ConfigError


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a connection needs."""

    server: str
    ca: bytes = b""
    certificate: bytes = b""
    key: bytes = b""
    token: str = ""
    insecure: bool = False
    server_name: str = ""


def default_path() -> Path:
    """The file kubectl would use: the first of $KUBECONFIG, else ~/.kube/config."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(named) if named else Path.home() / ".kube" / "config"


def load(path: Path | None = None, context: str = "") -> Credentials:
    """Read a kubeconfig or raise ConfigError naming what is missing."""
    path = path or default_path()
    try:
        value = msgspec.yaml.decode(path.read_bytes())
    except OSError as error:
        hint = "start one with `flexlet up`, or name another with --kubeconfig"
        raise ConfigError(f"cannot read kubeconfig {path}: {error.strerror}; {hint}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"kubeconfig {path} is not valid YAML: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"kubeconfig {path} is empty or not a mapping")
    return _Reader(path, value).credentials(context)


class _Reader:
    def __init__(self, path: Path, value: Mapping[str, Any]) -> None:
        self._path = path
        self._value = value

    def credentials(self, context: str) -> Credentials:
        chosen = self._named("contexts", "context", context or self._value.get("current-context") or "")
        cluster = self._named("clusters", "cluster", chosen.get("cluster", ""))
        user = self._named("users", "user", chosen["user"]) if chosen.get("user") else {}
        if not cluster.get("server"):
            raise ConfigError(f"kubeconfig {self._path}: cluster {chosen.get('cluster')!r} names no server")
        for plugin in ("exec", "auth-provider"):
            if plugin in user:
                raise ConfigError(f"kubeconfig {self._path}: user plugin {plugin!r} is not supported; use a token")
        return Credentials(
            server=cluster["server"].rstrip("/"),
            ca=self._data(cluster, "certificate-authority"),
            certificate=self._data(user, "client-certificate"),
            key=self._data(user, "client-key"),
            token=self._token(user),
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            server_name=cluster.get("tls-server-name", ""),
        )

    def _named(self, plural: str, singular: str, name: str) -> Mapping[str, Any]:
        for entry in self._value.get(plural) or ():
            if entry.get("name") == name:
                found: Mapping[str, Any] = entry.get(singular) or {}
                return found
        raise ConfigError(f"kubeconfig {self._path}: there is no {singular} named {name!r}")

    def _data(self, entry: Mapping[str, Any], field: str) -> bytes:
        try:
            if entry.get(f"{field}-data"):
                return base64.b64decode(entry[f"{field}-data"], validate=True)
            return (self._path.parent / entry[field]).read_bytes() if entry.get(field) else b""
        except (binascii.Error, OSError) as error:
            raise ConfigError(f"kubeconfig {self._path}: cannot read {field}: {error}") from error

    def _token(self, user: Mapping[str, Any]) -> str:
        if user.get("token"):
            return str(user["token"])
        return self._data({"t": user["tokenFile"]}, "t").decode().strip() if user.get("tokenFile") else ""


def node_config(credentials: Credentials, pair: Path) -> bytes:
    """The kubeconfig of a node that joined: the cluster of `credentials`, and the file that holds its pair."""
    cluster: dict[str, Any] = {"server": credentials.server}
    if credentials.ca:
        cluster["certificate-authority-data"] = base64.b64encode(credentials.ca).decode()
    if credentials.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if credentials.server_name:
        cluster["tls-server-name"] = credentials.server_name
    context = {"cluster": "default-cluster", "user": "default-auth", "namespace": "default"}
    user = {"client-certificate": str(pair), "client-key": str(pair)}
    return msgspec.yaml.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "default-context",
            "clusters": [{"name": "default-cluster", "cluster": cluster}],
            "contexts": [{"name": "default-context", "context": context}],
            "users": [{"name": "default-auth", "user": user}],
        }
    )


def ssl_context(credentials: Credentials) -> ssl.SSLContext:
    """TLS as the kubeconfig asks for it; the key touches the disk only for the moment OpenSSL reads it."""
    context = ssl.create_default_context(cadata=credentials.ca.decode() if credentials.ca else None)
    if credentials.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credentials.certificate:
        with tempfile.NamedTemporaryFile(suffix=".pem") as pair:  # mode 0600 by default
            both = credentials.certificate == credentials.key  # one file may hold the pair
            pair.write(credentials.certificate + (b"" if both else b"\n" + credentials.key))
            pair.flush()
            context.load_cert_chain(pair.name)
    return context
