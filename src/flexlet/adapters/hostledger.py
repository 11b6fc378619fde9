"""The host's ledger as a file beside a lock: whoever holds the lock may replace the file."""

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from flexlet.errors import HostError

_PATIENCE_S: Final = 5.0
_LOOK_S: Final = 0.05


class LedgerFile:
    """Obeys `flexlet.ports.hostledger.HostLedger`; all agents of the host must see the same directory."""

    def __init__(self, path: Path, patience_s: float = _PATIENCE_S) -> None:
        """`patience_s` is how long another agent may hold the lock; it needs it for a moment only."""
        self._path = path
        self._patience_s = patience_s

    async def change(self, how: Callable[[bytes | None], bytes]) -> None:
        """Replace it."""
        await asyncio.to_thread(self._change, how)

    def _change(self, how: Callable[[bytes | None], bytes]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                before = self._path.read_bytes() if self._path.exists() else None
                self._replace(how(before))
        except OSError as error:
            raise HostError(f"cannot change the host's ledger {self._path}: {error.strerror or error}") from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock goes with its holder, however that ends."""
        handle = os.open(self._path.with_name(f"{self._path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
        try:
            self._take(handle)
            yield
        finally:
            os.close(handle)

    def _take(self, handle: int) -> None:
        until = time.monotonic() + self._patience_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise HostError(
                        f"the host's ledger {self._path} is locked by another agent, for {self._patience_s:.0f} s"
                    ) from None
                time.sleep(_LOOK_S)
            else:
                return

    def _replace(self, data: bytes) -> None:
        beside = self._path.with_name(f".{self._path.name}")
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
