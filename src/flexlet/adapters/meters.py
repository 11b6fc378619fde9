"""The Meters port in memory: what was counted since the start, ready to be printed.

Counting is a look-up in two dicts, for it happens on the way of everything the agent does.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping

from flexlet.core.stats.declared import FAMILIES, METRICS, Declared
from flexlet.core.stats.exposition import GAUGE, HISTOGRAM, Family, Labels, Sample, number
from flexlet.errors import InvariantBroken
from flexlet.ports.meters import NO_LABELS

Key = tuple[str, ...]
"""The values of a family's labels, in its order."""


class _Histogram:
    __slots__ = ("counts", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * (buckets + 1)
        self.total = 0.0


class Ledger:
    """All that was counted."""

    def __init__(self, families: Mapping[str, Declared] = FAMILIES) -> None:
        self._families = families
        self._values: dict[str, dict[Key, float]] = {}
        self._histograms: dict[str, dict[Key, _Histogram]] = {}
        self.refresh: Callable[[], None] = lambda: None
        """Called before anything is printed: sets gauges that nobody keeps up to date."""
        for family in families.values():
            of_kind = self._histograms if family.kind == HISTOGRAM else self._values
            of_kind[family.name] = {}
            if not family.labels and family.kind != GAUGE:  # nothing happened yet is known, a gauge's value not
                self._start(family)

    def count(self, name: str, labels: Mapping[str, str] = NO_LABELS, by: float = 1) -> None:
        """Add to a counter."""
        key = self._key(name, labels)
        values = self._values[name]
        values[key] = values.get(key, 0) + by

    def set(self, name: str, labels: Mapping[str, str] = NO_LABELS, value: float = 1) -> None:
        """Say what a gauge shows from now on."""
        self._values[name][self._key(name, labels)] = value

    def observe(self, name: str, labels: Mapping[str, str] = NO_LABELS, value: float = 0) -> None:
        """Sort a value into a histogram."""
        key = self._key(name, labels)
        found, buckets = self._histograms[name], self._families[name].buckets
        histogram = found.get(key)
        if histogram is None:
            histogram = found[key] = _Histogram(len(buckets))
        histogram.counts[bisect_left(buckets, value)] += 1
        histogram.total += value

    def forget(self, name: str, labels: Mapping[str, str]) -> None:
        """Drop what was told of labels that include these."""
        series = self._values.get(name) or self._histograms.get(name) or {}
        names = self._families[name].labels
        gone = [key for key in series if labels.items() <= dict(zip(names, key, strict=True)).items()]
        for key in gone:
            del series[key]

    def families(self, page: str = METRICS) -> Iterator[Family]:
        """Everything for one page."""
        self.refresh()
        for family in self._families.values():
            if family.page == page:
                yield Family(family.name, family.kind, family.help, tuple(self._samples(family)))

    def _start(self, family: Declared) -> None:
        if family.kind == HISTOGRAM:
            self._histograms[family.name][()] = _Histogram(len(family.buckets))
        else:
            self._values[family.name][()] = 0

    def _key(self, name: str, labels: Mapping[str, str]) -> Key:
        family = self._families.get(name)
        if family is None or len(labels) != len(family.labels) or not all(map(labels.__contains__, family.labels)):
            raise InvariantBroken(f"metric {name} with labels {sorted(labels)} is counted but not declared so")
        return tuple([labels[label] for label in family.labels])

    def _samples(self, family: Declared) -> Iterator[Sample]:
        for key, value in self._values.get(family.name, {}).items():
            yield Sample(value, tuple(zip(family.labels, key, strict=True)))
        for key, histogram in self._histograms.get(family.name, {}).items():
            yield from _spread(tuple(zip(family.labels, key, strict=True)), family.buckets, histogram)


def _spread(labels: Labels, buckets: tuple[float, ...], histogram: _Histogram) -> Iterator[Sample]:
    running = 0
    for bound, count in zip((*buckets, float("inf")), histogram.counts, strict=True):
        running += count
        yield Sample(running, (*labels, ("le", number(bound))), suffix="_bucket")
    yield Sample(histogram.total, labels, suffix="_sum")
    yield Sample(running, labels, suffix="_count")
