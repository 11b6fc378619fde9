"""The stall detector: while requests are sent, somebody asks ``/livez`` every 50 ms and looks at the answers.

A stall is counted in processor time, not by the clock: how much of it the server's process spent between the
question and the answer. A busy machine makes every answer late; it does not make the server compute more. Work
that the server does beside its event loop counts too, because it may hold the interpreter's lock, but only for as
long as the answer took.
"""

import threading
import time
from typing import Final, NamedTuple, Self

from tests.fuzz.corpus import Request
from tests.fuzz.wire import Wire

from flexlet.adapters.kube.kubeconfig import Credentials

EVERY_S: Final = 0.05
LIVEZ: Final = Request("GET", "/livez")


class Beat(NamedTuple):
    """One answer of ``/livez``: when it was asked for, how long it took, what the server computed meanwhile."""

    at: float
    waited_s: float
    computed_s: float
    text: str

    @property
    def stalled_s(self) -> float:
        """How long the server itself kept its client waiting."""
        return min(self.waited_s, self.computed_s)


class Pulse:
    """Asks for as long as the context is open."""

    def __init__(self, credentials: Credentials, pid: int) -> None:
        self._credentials = credentials
        self._clock = process_clock(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.beats: list[Beat] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def worst(self, since: float = 0) -> Beat:
        """The answer that the server itself kept waiting longest."""
        beats = (beat for beat in [*self.beats] if beat.at >= since)
        return max(beats, key=lambda beat: beat.stalled_s, default=Beat(since, 0, 0, ""))

    def failures(self) -> list[str]:
        """What came instead of 200."""
        return [beat.text for beat in self.beats if beat.text]

    def _ask(self) -> None:
        with Wire(self._credentials) as wire:
            while not self._over.wait(EVERY_S):
                began, computed = time.monotonic(), time.clock_gettime(self._clock)
                answer = wire.send(LIVEZ)
                ended = time.monotonic()
                text = answer if isinstance(answer, str) else "" if answer.status == 200 else str(answer)
                self.beats.append(Beat(began, ended - began, time.clock_gettime(self._clock) - computed, text))


def process_clock(pid: int) -> int:
    """Linux' number of the clock that counts the processor time of another process (``clock_getcpuclockid``)."""
    return ~pid << 3 | 2
