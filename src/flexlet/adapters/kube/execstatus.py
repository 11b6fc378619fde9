"""The frames of exec over a WebSocket, without IO: channels, and how a command ended.

A message begins with the number of its channel. The server ends with a Status on the fourth one: Success, or
Failure with the exit code among its causes, or Failure because the command could not run at all.
"""

from typing import Final

import msgspec

from flexlet.api import status

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
STATUS: Final = 3
CLOSE: Final = 255
"""Followed by a channel that ends; v5 only."""
V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"
PROTOCOLS: Final = (V5, V4)
_decoder: Final = msgspec.json.Decoder(status.Status)


def frame(channel: int, data: bytes) -> bytes:
    """A message for a channel."""
    return bytes([channel]) + data


def split(message: bytes) -> tuple[int, bytes]:
    """Channel and content of a message; an empty message is nothing on stdout."""
    return (message[0], message[1:]) if message else (STDOUT, b"")


def exit_code(data: bytes) -> int:
    """With which code a command ended; ApiError if it never ran, or nobody knows how it ended."""
    try:
        told = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise status.internal(f"the end of a command cannot be read: {error}: {data[:200]!r}") from error
    if told.status == "Success":
        return 0
    causes = told.details.causes if told.details else ()
    for cause in causes:
        if cause.reason == "ExitCode" and cause.message.isdecimal():
            return int(cause.message)
    raise status.error_of(told)
