"""One bad object ends no loop: faults of pure parts are taken where they meet the world, counted and told of."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flexlet.core.faults import Faults
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.ports.clock import Clock

log: Final = logging.getLogger(__name__)


class Guard:
    """Takes the faults of one loop."""

    def __init__(self, loop: str, clock: Clock, faults: Faults | None = None) -> None:
        self._loop = loop
        self._clock = clock
        self._faults = faults or Faults()

    @contextmanager
    def over(self, key: str) -> Iterator[None]:
        """Whatever is raised inside ends here; `key` names the object it is about."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever it is, it concerns this object alone
            self.take(key, error)
        else:
            self.ended(key)

    def ended(self, key: str) -> None:
        """An object is well, or gone."""
        self._faults.ended(self._loop, key)

    def take(self, key: str, error: Exception) -> None:
        """Count a fault; say so once per back-off, with where it came from."""
        if self._faults.failed(self._loop, key, self._clock.now()).tell:
            told = {"loop": self._loop, "object": key, "error": f"{type(error).__name__}: {error}"}
            log.warning("%s: left out %s, which cannot be handled", self._loop, key, extra=told, exc_info=error)


def name_of(observation: Observation) -> str:
    """``plural/namespace/name`` of what was observed, or what kind of news it is."""
    match observation:
        case Seen(ref=ref, view=view) if view is not None:
            return _joined(ref[2], view.namespace, view.name)
        case Vanished(ref=ref, namespace=namespace, name=name):
            return _joined(ref[2], namespace, name)
        case _:
            return type(observation).__name__


def _joined(*parts: str) -> str:
    return "/".join(part for part in parts if part)
