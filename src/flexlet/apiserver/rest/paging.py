r"""Continue tokens: where the next page starts and which revision it belongs to.

The token is opaque to clients but has upstream's shape, so that its errors read the same: base64 of
``{"v": "meta.k8s.io/v1", "rv": 7, "start": "name\u0000"}``. A revision of -1 means: go on from that key with
whatever is there now.
"""

import base64
import binascii
from typing import Any, Final

import msgspec

from flexlet.api import status

VERSION: Final = "meta.k8s.io/v1"
INCONSISTENT: Final = -1


class Token(msgspec.Struct, frozen=True):
    """The last key of a page (below the list's prefix) and the page's revision."""

    after: str
    revision: int


def write(token: Token) -> str:
    """The token as clients see it."""
    document = {"v": VERSION, "rv": token.revision, "start": token.after + "\x00"}
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).decode().rstrip("=")


def read(text: str) -> Token:
    """Read a client's token, or 400."""
    try:
        document = msgspec.json.decode(_decoded(text), type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise _bad(f"continue key is not valid: {_json_error(_decoded(text))}") from None
    version, revision, start = document.get("v"), document.get("rv"), document.get("start")
    if version != VERSION:
        raise _bad(f"server does not recognize this encoded version {msgspec.json.encode(version).decode()}")
    if not isinstance(revision, int) or not isinstance(start, str):
        raise _bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if revision == 0:
        raise _bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _bad("continue key is not valid: empty")
    return Token(start.removesuffix("\x00"), revision)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _bad("continue key is not valid: illegal base64 data at input byte 0") from None


def _json_error(data: bytes) -> str:
    first = data.lstrip()[:1]
    if not first:
        return "unexpected end of JSON input"
    return f"invalid character '{first.decode('latin-1')}' looking for beginning of value"


def _bad(detail: str) -> status.ApiError:
    return status.bad_request(f"invalid continue token: {detail}")
