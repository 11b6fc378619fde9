"""Telling systemd how we are: ready, alive, stopping (sd_notify(3)).

Without systemd, or under another service manager, nothing happens.
"""

import contextlib
import os
import socket
from collections.abc import Mapping


class Supervisor:
    """Whoever started us and wants to know."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._watchdog_us = environment.get("WATCHDOG_USEC", "")
        self._watched = environment.get("WATCHDOG_PID", "")

    @property
    def watchdog_s(self) -> float | None:
        """Within how many seconds it must hear from us; None if it does not care."""
        if not self._address or not self._watchdog_us.isdecimal() or self._watched not in {"", str(os.getpid())}:
            return None
        return int(self._watchdog_us) / 1e6

    def tell(self, state: str) -> None:
        """``READY=1``, ``WATCHDOG=1``, ``STOPPING=1``; one that cannot be reached is not missed."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(state.encode(), address)
