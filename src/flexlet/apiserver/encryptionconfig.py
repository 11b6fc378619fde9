"""The file that says what is encrypted at rest: kube-apiserver's ``EncryptionConfiguration``.

The first provider of a resource writes, all of its providers read, so keys rotate by adding the new one in front.
AES-GCM and ``identity`` are done here; other providers are refused by name, because leaving one out would leave
plain what somebody believes to be encrypted.
"""

import base64
import binascii
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.apiserver import yamltext
from flexlet.apiserver.store.encryption import IDENTITY, Encryption, Key, Providers, aes_keys
from flexlet.apiserver.yamltext import YamlFault
from flexlet.errors import ConfigError

API_VERSION: Final = "apiserver.config.k8s.io/v1"
KIND: Final = "EncryptionConfiguration"
MAX_FILE_BYTES: Final = 1024 * 1024
KEY_BYTES: Final = (16, 24, 32)


class KeyEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named key, base64."""

    name: str
    secret: str


class AesKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of one provider."""

    keys: tuple[KeyEntry, ...]


class ResourceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which resources, and what encrypts them."""

    resources: tuple[str, ...]
    providers: tuple[dict[str, Any], ...]


class EncryptionFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The whole file."""

    api_version: str
    kind: str
    resources: tuple[ResourceEntry, ...]


def load_encryption(path: Path) -> Encryption:
    """Read the file.

    Raises:
        ConfigError: it cannot be read, others can read it, or it asks for what is not done here.
    """
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ConfigError(f"cannot use {path}: it holds keys and others can read it; run `chmod 600 {path}`")
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise ConfigError(f"cannot read encryption configuration {path}: it is larger than 1 MiB")
        found = msgspec.convert(yamltext.load(data), EncryptionFile)
    except YamlFault as exc:
        raise ConfigError(f"cannot read encryption configuration {path}: {exc.message}") from None
    except (OSError, msgspec.MsgspecError) as exc:
        raise ConfigError(f"cannot read encryption configuration {path}: {exc}") from exc
    if (found.api_version, found.kind) != (API_VERSION, KIND):
        raise ConfigError(f"cannot use {path}: it is {found.api_version} {found.kind}, not {API_VERSION} {KIND}")
    rules = [(resource, _providers(path, entry)) for entry in found.resources for resource in entry.resources]
    return Encryption(lambda bucket: _chosen(rules, bucket))


def _chosen(rules: Sequence[tuple[str, Providers]], bucket: str) -> Providers:
    """The first entry that covers a bucket (``secrets``, ``apps/deployments``)."""
    group, _, plural = bucket.rpartition("/")
    for resource, providers in rules:
        name, _, of = resource.partition(".")
        if name in {plural, "*"} and of in {group, "*"}:
            return providers
    return {}


def _providers(path: Path, entry: ResourceEntry) -> Providers:
    providers: dict[str, Key | None] = {}
    for provider in entry.providers:
        if len(provider) != 1:
            raise ConfigError(f"cannot use {path}: a provider has one key, this one has {sorted(provider)}")
        for name, settings in provider.items():
            added = _provider(path, name, settings)
            if set(added) & set(providers):
                raise ConfigError(f"cannot use {path}: {sorted(set(added) & set(providers))} are given twice")
            providers |= added
    if not providers:
        raise ConfigError(f"cannot use {path}: there is no provider for {', '.join(entry.resources)}")
    return providers


def _provider(path: Path, name: str, settings: Any) -> dict[str, Key | None]:
    if name == "identity":
        return {IDENTITY: None}
    if name != "aesgcm":
        raise ConfigError(
            f"cannot use {path}: provider {name!r} is not supported; aesgcm and identity are. What another server "
            "encrypted otherwise has to be written again by that server with one of these first"
        )
    try:
        keys = msgspec.convert(settings, AesKeys).keys
        raw = [(key.name, base64.b64decode(key.secret, validate=True)) for key in keys]
    except (msgspec.MsgspecError, binascii.Error) as exc:
        raise ConfigError(f"cannot use {path}: keys of aesgcm: {exc}") from exc
    for key, secret in raw:
        if not key or ":" in key:
            raise ConfigError(f"cannot use {path}: key name {key!r} is empty or contains ':'")
        if len(secret) not in KEY_BYTES:
            raise ConfigError(f"cannot use {path}: key {key!r} has {len(secret)} bytes; AES takes 16, 24 or 32")
    return aes_keys(raw)
