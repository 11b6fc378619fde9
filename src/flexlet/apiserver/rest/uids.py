"""Random uids at the price of slicing: entropy is fetched from the system a few hundred uids at a time.

A system call per uid is a noticeable part of a small request; the uids are as random either way.
"""

import os
from typing import Final

BLOCK_BYTES: Final = 16 * 256


class _Pool:
    """Bytes nobody has used yet."""

    def __init__(self) -> None:
        self._block = b""
        self._at = 0

    def take(self) -> bytes:
        """Sixteen fresh bytes."""
        if self._at >= len(self._block):
            self._block, self._at = os.urandom(BLOCK_BYTES), 0
        self._at += 16
        return self._block[self._at - 16 : self._at]


_pool: Final = _Pool()


def new_uid() -> str:
    """A version 4 UUID."""
    raw = bytearray(_pool.take())
    raw[6] = (raw[6] & 0x0F) | 0x40
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
