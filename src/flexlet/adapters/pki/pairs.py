"""A pair that is renewed: dated files, and a link that always leads to the current one.

``kubelet-client-current.pem`` points to ``kubelet-client-2026-01-02-03-04-05.pem``, which holds certificate and
key together: they are written at once and cannot part. A pair that others put there (``kubelet-client.crt`` and
``.key``, or files named in the configuration) is used until it is replaced. Everything is done in a thread: keys
and disks take their time.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from flexlet.adapters.pki import files
from flexlet.core.certificates.wanted import Held, Wanted, digested_name
from flexlet.errors import ConfigError
from flexlet.ports.certificates import Draft

CLIENT: Final = "kubelet-client"
SERVER: Final = "kubelet-server"


class PairFiles:
    """One pair in a directory, under the names that start with `prefix`. Obeys `CertificateStore`."""

    def __init__(
        self, directory: Path, prefix: str, now: Callable[[], float], given: tuple[str, str] | None = None
    ) -> None:
        self._directory = directory.absolute()
        self._prefix = prefix
        self._now = now
        self._given = given

    @property
    def path(self) -> str:
        """The link to the current pair."""
        return str(self._named("current"))

    async def load(self) -> Held | None:
        """The current certificate; ConfigError where there is one that cannot be used."""
        return await asyncio.to_thread(self._load)

    async def draft(self, wanted: Wanted) -> Draft:
        """A fresh key and a request."""
        return await asyncio.to_thread(self._draft, wanted)

    async def first_draft(self, wanted: Wanted) -> Draft:
        """A request that can be found again: its key waits on disk until there is a certificate for it."""
        return await asyncio.to_thread(self._first_draft, wanted)

    async def forget_key(self) -> None:
        """The request made with the waiting key came to nothing: the next one is made with another."""
        await asyncio.to_thread(self._waiting.unlink, missing_ok=True)

    async def save(self, certificate: bytes, key: bytes) -> Held:
        """Make a pair the current one."""
        return await asyncio.to_thread(self._save, certificate, key)

    def read(self) -> tuple[bytes, bytes] | None:
        """Certificate and key as PEM, from the first place that has both."""
        self._recover()
        current = self._named("current")
        crt, key = (self._directory / f"{self._prefix}.{ending}" for ending in ("crt", "key"))
        given = [(Path(self._given[0]), Path(self._given[1]))] if self._given else []
        for pair in ((current, current), *given, (crt, key)):
            if all(path.is_file() for path in pair):
                return _bytes(pair[0]), _bytes(pair[1])
        return None

    def _recover(self) -> None:
        """A kubelet removes the link before it puts the new one in its place; end what it began."""
        updated = self._named("updated")
        if updated.is_symlink() and not self._named("current").exists():
            updated.replace(self._named("current"))

    def _load(self) -> Held | None:
        pair = self.read()
        if pair is None:
            return None
        from flexlet.adapters.pki import keys

        return keys.facts(*pair, self.path)

    def _draft(self, wanted: Wanted) -> Draft:
        from flexlet.adapters.pki import keys

        key = keys.new_key()
        return Draft(keys.request(key, wanted), key)

    def _first_draft(self, wanted: Wanted) -> Draft:
        from flexlet.adapters.pki import keys

        key = self._waiting_key(keys.new_key)
        name = digested_name(keys.public_der(key, str(self._waiting)), wanted)
        return Draft(keys.request(key, wanted), key, name)

    def _save(self, certificate: bytes, key: bytes) -> Held:
        from flexlet.adapters.pki import keys

        held = keys.facts(certificate, key, "the new certificate")
        self._write(certificate, key)
        return held

    def _write(self, certificate: bytes, key: bytes) -> None:
        current = self._named("current")
        if current.exists() and not current.is_symlink():
            raise ConfigError(f"{current} is a file and should be a link; move it away, and it is made anew")
        dated = self._named(f"{datetime.fromtimestamp(int(self._now()), UTC):%Y-%m-%d-%H-%M-%S}")
        try:
            files.write(dated, certificate.rstrip() + b"\n" + key)
            files.link(dated, current, self._named("updated"))
        except OSError as error:
            raise ConfigError(f"cannot keep a certificate in {self._directory}: {error}") from error
        self._waiting.unlink(missing_ok=True)

    @property
    def _waiting(self) -> Path:
        return self._directory / f"{self._prefix}.key.tmp"

    def _waiting_key(self, make: Callable[[], bytes]) -> bytes:
        if self._waiting.is_file():
            return _bytes(self._waiting)
        key = make()
        try:
            files.write(self._waiting, key)
        except OSError as error:
            raise ConfigError(f"cannot keep a key in {self._directory}: {error}") from error
        return key

    def _named(self, qualifier: str) -> Path:
        return self._directory / f"{self._prefix}-{qualifier}.pem"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
