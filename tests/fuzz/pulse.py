"""The stall detector: while requests are sent, somebody asks ``/livez`` every 50 ms and times the answers.

Two things are taken off the time of an answer, because they are the machine's doing and not the server's: how long
the server's own thread stood in the kernel's run queue, and how late a timer of ours was meanwhile.
"""

import threading
import time
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.fuzz.corpus import Request
from tests.fuzz.wire import Wire

from flexlet.adapters.kube.kubeconfig import Credentials

EVERY_S: Final = 0.05
LIVEZ: Final = Request("GET", "/livez")


class Beat(NamedTuple):
    """One answer of ``/livez``: when it was asked for, how long it took, what of that the machine took."""

    at: float
    waited_s: float
    queued_s: float
    late_s: float
    text: str

    @property
    def stalled_s(self) -> float:
        """How long the server itself kept its client waiting."""
        return self.waited_s - self.queued_s - self.late_s


class Pulse:
    """Asks for as long as the context is open."""

    def __init__(self, credentials: Credentials, pid: int) -> None:
        self._credentials = credentials
        self._queue = Path(f"/proc/{pid}/task/{pid}/schedstat")
        self._over = threading.Event()
        self._ticks: list[tuple[float, float]] = []
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._ask, self._tick)]
        self.beats: list[Beat] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(30)

    def worst(self, since: float = 0) -> Beat:
        """The answer that the server itself kept waiting longest."""
        beats = (beat for beat in [*self.beats] if beat.at >= since)
        return max(beats, key=lambda beat: beat.stalled_s, default=Beat(since, 0, 0, 0, ""))

    def failures(self) -> list[str]:
        """What came instead of 200."""
        return [beat.text for beat in self.beats if beat.text]

    def _ask(self) -> None:
        with Wire(self._credentials) as wire:
            while not self._over.wait(EVERY_S):
                began, queued = time.monotonic(), self._queued_s()
                answer = wire.send(LIVEZ)
                ended = time.monotonic()
                text = answer if isinstance(answer, str) else "" if answer.status == 200 else str(answer)
                late = self._late_s(began, ended)
                self.beats.append(Beat(began, ended - began, self._queued_s() - queued, late, text))

    def _tick(self) -> None:
        while not self._over.is_set():
            due = time.monotonic() + EVERY_S / 5
            time.sleep(EVERY_S / 5)
            self._ticks = [*self._ticks[-500:], (due, time.monotonic() - due)]

    def _late_s(self, began: float, ended: float) -> float:
        """The greatest delay of a timer of ours between two moments."""
        return max((late for due, late in self._ticks if began <= due + late and due <= ended), default=0.0)

    def _queued_s(self) -> float:
        """How long the server's main thread has waited for a processor; 0 where the kernel does not count it."""
        try:
            return int(self._queue.read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0
