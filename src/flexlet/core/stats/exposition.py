"""Prometheus' text format, version 0.0.4.

Written by hand rather than with prometheus-client: that library calls every counter ``..._total``, but some of the
names monitoring knows the kubelet by (``kubelet_evictions``) do not end so, and it would cost every agent 5 MiB.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

COUNTER: Final = "counter"
GAUGE: Final = "gauge"
HISTOGRAM: Final = "histogram"
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class Sample(msgspec.Struct, frozen=True):
    """One value; `time` is when it was measured, if that is not now."""

    value: float
    labels: Labels = ()
    time: float | None = None
    suffix: str = ""
    """``_bucket``, ``_sum`` and ``_count`` of a histogram."""


class Family(msgspec.Struct, frozen=True):
    """All samples of one name."""

    name: str
    kind: str
    help: str
    samples: Sequence[Sample] = ()


def text(families: Iterable[Family]) -> bytes:
    """Families with samples, sorted by name."""
    shown = sorted((family for family in families if family.samples), key=lambda family: family.name)
    return "".join(line + "\n" for family in shown for line in _lines(family)).encode()


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels)
        stamp = "" if sample.time is None else f" {int(sample.time * 1000)}"
        shown = f"{{{labels}}}" if labels else ""
        yield f"{family.name}{sample.suffix}{shown} {number(sample.value)}{stamp}"


def number(value: float) -> str:
    """A number as Prometheus reads it; whole ones without a point."""
    if value != value:  # noqa: PLR0124 the definition of NaN
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
