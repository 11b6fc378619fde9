"""Counting what happens, so that ``/metrics`` can tell it.

Names are those declared in `flexlet.core.stats.declared`, labels are given by name, all of them. Counting never
waits and never fails for a declared name.
"""

from collections.abc import Mapping
from typing import Final, Protocol

NO_LABELS: Final[Mapping[str, str]] = {}


class Meters(Protocol):
    """Counters go up, gauges are set, histograms observe."""

    def count(self, name: str, labels: Mapping[str, str] = NO_LABELS, by: float = 1) -> None:
        """Add to a counter."""
        ...

    def set(self, name: str, labels: Mapping[str, str] = NO_LABELS, value: float = 1) -> None:
        """Say what a gauge shows from now on."""
        ...

    def observe(self, name: str, labels: Mapping[str, str] = NO_LABELS, value: float = 0) -> None:
        """Sort a value into a histogram."""
        ...

    def forget(self, name: str, labels: Mapping[str, str]) -> None:
        """Drop what was told of labels that include these: the pod is gone."""
        ...
