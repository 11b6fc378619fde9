"""``/metrics`` in Prometheus' text format, under the names kube-apiserver uses where there is one.

Written by hand: a few dozen lines of text once in a while do not need a library in every process.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from flexlet.apiserver.store.rows import Statistics
from flexlet.core.gates import STAGES

BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STORE_HELP: Final = {
    "revision": "The newest committed revision.",
    "keys": "Objects in the store.",
    "waiting_writes": "Writes submitted and not yet durable.",
    "last_batch_rows": "Rows of the last commit.",
    "last_commit_s": "Seconds the last commit took.",
    "failed_batches": "Commits that failed.",
    "watchers": "Open watches.",
    "dropped_watchers": "Watches cut off because they were too slow.",
    "history_events": "Events kept for resumed watches.",
    "history_bytes": "Bytes of objects that only the kept history holds.",
    "oldest_revision": "The oldest revision of the kept history.",
    "compacted_revision": "The revision up to which history is forgotten on disk.",
    "database_bytes": "What the data file and its log occupy.",
}

NO_COUNTERS: Final[Mapping[str, tuple[str, int]]] = {}
Labels = tuple[str, str, str, str, str]
"""Verb, group, version, resource, subresource."""


class Durations:
    """A histogram of one kind of request."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.total += seconds


class Metrics:
    """Counts requests; prints them together with the store's statistics and the feature gates."""

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._requests: dict[tuple[Labels, int], int] = {}
        self._durations: dict[Labels, Durations] = {}
        self.closed: Callable[[], Mapping[str, int]] = dict
        self.refused: Callable[[], int] = int

    def observe(self, labels: Labels, code: int, seconds: float) -> None:
        """Count an answered request; how long a watch lasted says nothing and is left out."""
        key = (labels, code)
        self._requests[key] = self._requests.get(key, 0) + 1
        if labels[0] != "WATCH":
            found = self._durations.get(labels)
            if found is None:
                found = self._durations[labels] = Durations()
            found.observe(seconds)

    def text(self, statistics: Statistics, counters: Mapping[str, tuple[str, int]] = NO_COUNTERS) -> str:
        """Everything, as Prometheus reads it; `counters` are those of others, with a help text each."""
        lines = [*self._request_lines(), *self._duration_lines(), *self._gate_lines(), *self._wire_lines()]
        for name, (help_text, count) in counters.items():
            lines += [*_head(name, "counter", help_text), f"{name} {count}"]
        for name, help_text in STORE_HELP.items():
            metric = f"flexlet_store_{name.removesuffix('_s')}" + ("_seconds" if name.endswith("_s") else "")
            lines += _head(metric, "gauge", help_text)
            lines.append(f"{metric} {getattr(statistics, name)}")
        return "\n".join(lines) + "\n"

    def _request_lines(self) -> Iterator[str]:
        yield from _head("apiserver_request_total", "counter", "Requests answered, by what they asked for.")
        for (labels, code), count in sorted(self._requests.items()):
            yield f'apiserver_request_total{{code="{code}",{_labels(labels)}}} {count}'

    def _duration_lines(self) -> Iterator[str]:
        name = "apiserver_request_duration_seconds"
        yield from _head(name, "histogram", "Seconds until requests were answered.")
        for labels, durations in sorted(self._durations.items()):
            shown, running = _labels(labels), 0
            for bound, count in zip((*BOUNDS_S, "+Inf"), durations.counts, strict=True):
                running += count
                yield f'{name}_bucket{{{shown},le="{bound}"}} {running}'
            yield f"{name}_sum{{{shown}}} {durations.total}"
            yield f"{name}_count{{{shown}}} {running}"

    def _wire_lines(self) -> Iterator[str]:
        name = "flexlet_connections_closed_total"
        yield from _head(name, "counter", "Connections closed, by what their clients owed for too long.")
        for reason, count in sorted(self.closed().items()):
            yield f'{name}{{reason="{reason}"}} {count}'
        name = "apiserver_flowcontrol_rejected_requests_total"
        yield from _head(name, "counter", "Heavy requests refused because too many waited for their turn.")
        yield f"{name} {self.refused()}"

    def _gate_lines(self) -> Iterator[str]:
        yield from _head("kubernetes_feature_enabled", "gauge", "Whether a feature is switched on.")
        for name, enabled in sorted(self._gates.items()):
            stage = STAGES.get(name, "")
            yield f'kubernetes_feature_enabled{{name="{name}",stage="{stage}"}} {int(enabled)}'


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    names = ("verb", "group", "version", "resource", "subresource")
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, labels, strict=True))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
