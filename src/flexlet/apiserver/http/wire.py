"""What a client may do with its connections: how slow it may be, how many it may have, how much at once.

Generous for every client that means well, and a bound for each thing that somebody could hold for ever.
"""

import msgspec

MEBIBYTE = 1 << 20


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds; tests take short ones."""

    handshake_s: float = 10.0
    """From the connection to the end of the TLS handshake, as Go's clients allow."""
    header_s: float = 32.0
    """From the first byte of a request to the end of its headers: kube-apiserver's ReadHeaderTimeout."""
    body_s: float = 60.0
    """From the end of the headers to the end of the body: kube-apiserver's time for a whole request."""
    idle_s: float = 75.0
    """Between two requests on a connection."""
    write_s: float = 60.0
    """Without a byte read by the client of an answer; logs and terminals may stand still for longer."""
    stall_s: float = 30.0
    """The same for a watch, which is resumed more cheaply than it is kept."""
    unread_bytes: int = 64 * MEBIBYTE
    """What all watches that are not read may hold in transports."""
    buffer_bytes: int = 64 * 1024
    """What one connection may hold before its writer waits."""
    socket_bytes: int = 256 * 1024
    """What the kernel may hold for one connection; it doubles the figure."""
    strangers: int = 2000
    """Connections of one address that have not shown who they are; over it, the oldest of them is closed."""
    connections: int = 1000
    """Connections of one user; members of system:masters have no bound."""
    heavy: int = 6
    """Heavy requests that are worked on at once."""
    heavy_per_user: int = 2
    heavy_waiting: int = 32
    """Heavy requests of one user that may wait for their turn."""
    turn_s: float = 15.0
    """How long one waits for its turn before it is refused."""
    hold_s: float = 30.0
    """How long a turn lasts at most; who takes longer to read an answer goes on without one."""


DEFAULT = Wire()
