"""Unix sockets for one user, at paths of any length.

A socket's address holds 107 bytes, and data directories can lie deep: so addresses go through the directory's
descriptor. A socket gets mode 0600 before it listens, so there is no moment in which others could connect.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def listening(path: Path) -> socket.socket:
    """A new listening socket at `path`; one that was left there is replaced."""
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with _address(path) as address:
        server.bind(address)
        path.chmod(0o600)
        server.listen()
    return server


def connected(path: Path) -> socket.socket:
    """A non-blocking socket connected to the one at `path`, or OSError; it never waits."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        client.setblocking(False)
        with _address(path) as address:
            client.connect(address)
    except OSError:
        client.close()
        raise
    return client


@contextmanager
def _address(path: Path) -> Iterator[str]:
    directory = os.open(path.parent, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
