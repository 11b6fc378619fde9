"""Header blocks: names and values with their lengths, deflated with the protocol's dictionary.

One compressor and one decompressor live as long as the connection, since each block goes on where the last ended.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import Final

_WORDS: Final = [
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
]
_PHRASES: Final = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_CODES: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
    "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 "
    "Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May "
    "Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,"
    "image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
    "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def dictionary() -> bytes:
    """What both sides of every connection start compressing from."""
    words = (word.encode() for word in (*_WORDS, *_PHRASES))
    return b"".join(struct.pack(">I", len(word)) + word for word in words) + _CODES.encode()


class HeaderBlocks:
    """Writes and reads the blocks of one connection."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=dictionary())
        self._inflate = zlib.decompressobj(zdict=dictionary())

    def write(self, headers: Mapping[str, str]) -> bytes:
        """A block; names are sent in lower case."""
        plain = struct.pack(">I", len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                plain += struct.pack(">I", len(text)) + text
        return self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def read(self, block: bytes) -> dict[str, str]:
        """The headers of a block."""
        plain = self._inflate.decompress(block)
        (count,), position = struct.unpack_from(">I", plain), 4
        texts = []
        for _ in range(count * 2):
            (size,) = struct.unpack_from(">I", plain, position)
            texts.append(plain[position + 4 : position + 4 + size].decode(errors="replace"))
            position += 4 + size
        return dict(zip(texts[::2], texts[1::2], strict=True))
