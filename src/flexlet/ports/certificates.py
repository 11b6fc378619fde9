"""Keys and certificates of the node, wherever they are kept."""

from typing import Protocol

import msgspec

from flexlet.core.certificates.wanted import Held, Wanted


class Draft(msgspec.Struct, frozen=True):
    """A key and a signing request made with it, as PEM; under a name the request is found after a crash."""

    csr: bytes
    key: bytes
    name: str = ""


class CertificateStore(Protocol):
    """One certificate and its key: the current pair, and the next one when it has come."""

    @property
    def path(self) -> str:
        """The file that always holds the current pair."""
        ...

    async def load(self) -> Held | None:
        """The current certificate, None if there is none yet."""
        ...

    async def draft(self, wanted: Wanted) -> Draft:
        """A new key and a request for a certificate."""
        ...

    async def first_draft(self, wanted: Wanted) -> Draft:
        """The same, with a name, and with the same key again until a pair is saved or the key forgotten."""
        ...

    async def forget_key(self) -> None:
        """The first request came to nothing: make the next one with another key."""
        ...

    async def save(self, certificate: bytes, key: bytes) -> Held:
        """Make a pair (PEM) the current one; whoever reads `path` sees the old pair or the new one, whole."""
        ...
