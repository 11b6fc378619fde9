"""Values encrypted at rest: what is written to the data file and read from it; memory holds them plain.

The form is kube-apiserver's for AES-GCM: ``k8s:enc:aesgcm:v1:KEY:`` then 12 random bytes, the ciphertext and
its tag. The object's place (bucket and key) is authenticated with it, so a value copied to another object
does not open. Pure but for the random bytes; which keys there are is told by `EncryptionConfiguration` (see
`encryptionconfig`).
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from flexlet.errors import ConfigError

if TYPE_CHECKING:
    from flexlet.apiserver.store.database import Stored

PREFIX = b"k8s:enc:"
AESGCM_PREFIX = b"k8s:enc:aesgcm:v1:"
NONCE = 12
IDENTITY = ""
"""The name of the provider that leaves values as they are; keys have names that are not empty."""


class Key(Protocol):
    """Whatever seals and opens bytes."""

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        """The ciphertext with its tag."""

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        """The plain bytes; InvalidTag if it is not what was sealed."""


Providers = Mapping[str, Key | None]
"""By name of the key, in the file's order: the first one writes, all of them read. None leaves values plain."""


class Encryption:
    """Which buckets are encrypted, and by which keys."""

    def __init__(self, providers_of: Callable[[str], Providers]) -> None:
        self._providers_of = providers_of
        self._known: dict[str, Providers] = {}
        self._unreadable: Counter[tuple[str, str]] = Counter()

    def seal(self, bucket: str, key: str, value: bytes) -> bytes:
        """The value as it is written."""
        providers = self._providers(bucket)
        name = next(iter(providers), IDENTITY)
        cipher = providers.get(name)
        if cipher is None:
            return value
        nonce = os.urandom(NONCE)
        return b"%s%s:%s%s" % (
            AESGCM_PREFIX,
            name.encode(),
            nonce,
            cipher.encrypt(nonce, value, _place(bucket, key)),
        )

    def open(self, stored: "Stored") -> bytes:
        """The value as it was; empty, and counted, if no key opens it."""
        name, sealed = key_name(stored.value)
        providers = self._providers(stored.bucket)
        if name == IDENTITY:
            if not providers or IDENTITY in providers:
                return stored.value
        elif (cipher := providers.get(name)) is not None:
            try:
                return cipher.decrypt(sealed[:NONCE], sealed[NONCE:], _place(stored.bucket, stored.key))
            except (InvalidTag, ValueError):
                pass
        self._unreadable[stored.bucket, name] += 1
        return b""

    def require_readable(self, path: Path | None) -> None:
        """Every value was opened.

        Raises:
            ConfigError: some were not; it names how many, of what, by which key.
        """
        counted, self._unreadable = self._unreadable, Counter()
        if counted:
            raise ConfigError(
                f"cannot read {unreadable(counted)} in data file {path}: no key of "
                "--encryption-provider-config opens them; name the keys that they were written with "
                "as further providers"
            )

    def _providers(self, bucket: str) -> Providers:
        found = self._known.get(bucket)
        if found is None:
            found = self._known[bucket] = self._providers_of(bucket)
        return found


PLAIN = Encryption(lambda _: {})
"""Nothing is encrypted."""


class _Sealed(Encryption):
    """Leaves values as they lie in the file: for whoever looks at it without the keys."""

    def __init__(self) -> None:
        super().__init__(lambda _: {})

    def open(self, stored: "Stored") -> bytes:
        return stored.value


SEALED = _Sealed()


def aes_keys(keys: Sequence[tuple[str, bytes]]) -> dict[str, Key | None]:
    """Providers of AES-GCM from names and raw keys of 16, 24 or 32 bytes."""
    return {name: AESGCM(raw) for name, raw in keys}


def key_name(value: bytes) -> tuple[str, bytes]:
    """By which key a stored value is encrypted (`IDENTITY` for none), and what follows its name."""
    if not value.startswith(PREFIX):
        return IDENTITY, value
    if not value.startswith(AESGCM_PREFIX):
        return value[:40].decode("ascii", "replace"), b""
    name, _, sealed = value[len(AESGCM_PREFIX) :].partition(b":")
    return name.decode("utf-8", "replace"), sealed


def unreadable(counted: Mapping[tuple[str, str], int]) -> str:
    """How many records of what, by which keys."""
    return ", ".join(
        f"{number} records of {bucket} " + (f"encrypted by key {name!r}" if name else "that are not encrypted")
        for (bucket, name), number in sorted(counted.items())
    )


def _place(bucket: str, key: str) -> bytes:
    return f"/{bucket}/{key}".encode()
