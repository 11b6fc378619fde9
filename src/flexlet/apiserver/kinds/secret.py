"""Secrets: like ConfigMaps, but every type of secret needs its keys."""

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final

import msgspec

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds import datasize, keypair
from flexlet.apiserver.kinds.configmap import check_frozen
from flexlet.apiserver.kinds.strategy import KindStrategy, age_of, name_of

OPAQUE: Final = "Opaque"
TLS: Final = "kubernetes.io/tls"
ACCOUNT_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105 the name of a type
ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_REDACTED: Final = "<secret contents redacted>"


class SecretStrategy(KindStrategy):
    """Bytes by key; the type is settled at creation."""

    type_name = "core.v1.Secret"

    def fill(self, obj: Object) -> None:
        """Plain text becomes data and wins over it; no type means opaque."""
        texts = obj.pop("stringData", None)
        if texts:
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            obj["data"] = {**obj.get("data", {}), **encoded}
        if not obj.get("type"):
            obj["type"] = OPAQUE

    def check(self, obj: Object) -> list[FieldError]:
        """Keys, size, and what the type demands."""
        data = obj.get("data", {})
        errors = datasize.check_keys("data", data)
        if datasize.decoded_bytes(data) > datasize.MAX_BYTES:
            errors.append(fielderrors.too_long("data", datasize.MAX_BYTES))
        demands = _DEMANDS.get(obj.get("type", ""))
        return errors + demands(obj, data) if demands else errors

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The type is for good, and a frozen one stays as it is."""
        errors = check_frozen(obj, old, "data")
        if obj.get("type") != old.get("type"):
            errors.append(fielderrors.invalid("type", obj.get("type", ""), "field is immutable"))
        return errors

    def warnings(self, obj: Object) -> list[str]:
        """A TLS secret whose parts do not fit is stored, with a warning."""
        if obj.get("type") != TLS:
            return []
        certificate, key = (_decoded(obj, name) for name in ("tls.crt", "tls.key"))
        complaint = keypair.complaint(certificate, key)
        return [complaint] if complaint else []

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """As on create."""
        del old
        return self.warnings(obj)

    def fields(self, obj: Object) -> dict[str, str]:
        """Secrets are found by type."""
        return {"type": obj.get("type", "")}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The type and the number of keys."""
        return [name_of(obj), obj.get("type", ""), len(obj.get("data", {})), age_of(obj, now)]


def _decoded(obj: Object, key: str) -> bytes:
    try:
        return base64.b64decode(obj.get("data", {}).get(key, ""))
    except binascii.Error:
        return b""


def _missing(data: Object, *keys: str) -> list[FieldError]:
    return [fielderrors.required(f"data[{key}]") for key in keys if key not in data]


def _account_token(obj: Object, _data: Object) -> list[FieldError]:
    if obj["metadata"].get("annotations", {}).get(ACCOUNT_NAME):
        return []
    return [fielderrors.required(f"metadata.annotations[{ACCOUNT_NAME}]")]


def _registry_login(key: str) -> Callable[[Object, Object], list[FieldError]]:
    def demand(obj: Object, data: Object) -> list[FieldError]:
        if key not in data:
            return _missing(data, key)
        try:
            msgspec.json.decode(_decoded(obj, key), type=dict[str, Any] | None)
        except msgspec.MsgspecError as error:
            return [fielderrors.invalid(f"data[{key}]", _REDACTED, str(error))]
        return []

    return demand


def _login(_obj: Object, data: Object) -> list[FieldError]:
    return [] if "username" in data or "password" in data else _missing(data, "username", "password")


def _ssh(_obj: Object, data: Object) -> list[FieldError]:
    return [] if data.get("ssh-privatekey") else [fielderrors.required("data[ssh-privatekey]")]


def _tls(_obj: Object, data: Object) -> list[FieldError]:
    return _missing(data, "tls.crt", "tls.key")


_DEMANDS: Final[dict[str, Callable[[Object, Object], list[FieldError]]]] = {
    ACCOUNT_TOKEN: _account_token,
    "kubernetes.io/dockercfg": _registry_login(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _registry_login(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _login,
    "kubernetes.io/ssh-auth": _ssh,
    TLS: _tls,
}

SECRET: Final = Kind(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    singular="secret",
    namespaced=True,
    schema="core.v1.Secret",
    strategy=SecretStrategy(),
)
