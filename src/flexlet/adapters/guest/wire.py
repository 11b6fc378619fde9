r"""What the two ends say to each other: JSON objects, one a line, payloads in base64.

Lines, because a serial port has no connections: bytes of somebody who has left may still be on their way when the
next one comes. A client therefore starts with an empty line and ``hello``; the server ends what the last one had
running, and echoes. Whoever reads a line that makes no sense drops it.

Both ways: ``hello`` (the client's own random text), and for a command with the number ``id``: ``took`` (bytes).
Host to guest: ``run`` (the words) with ``env``, ``cwd`` and ``tty`` (rows and columns), then ``in`` (data),
``eof``, ``kill`` (signal), ``tty``. Guest to host: ``started``, once, by a server that knows of no client yet; and
for a command ``out``, ``err`` (data), at last ``exit`` (code).

``took`` is flow control, both ways: nobody has more than `WINDOW` bytes of a command's input, or of its output, on
the way that the other end has not taken. So a command that does not read cannot fill the memory of the server, and
one whose output nobody wants does not hold up the others.

The standard library only: this runs in the guest before anything else.
"""

import binascii
import json
from typing import Any, Final

WINDOW: Final = 256 * 1024
CHUNK: Final = 32 * 1024
MAX_LINE: Final = 4 * WINDOW


def encode(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def pack(data: bytes) -> str:
    """Bytes as they travel."""
    return binascii.b2a_base64(data, newline=False).decode()


def unpack(text: str) -> bytes:
    """The bytes that travelled."""
    return binascii.a2b_base64(text)


class Lines:
    """Collects bytes into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The messages that are complete now; what makes no sense is dropped."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            self._rest = b""
        return [message for message in map(_decode, whole) if message]


def _decode(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
