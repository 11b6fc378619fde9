"""Reading pods: JSON text into typed Structs, quantities included."""

import time

from bench.podlines import pod_lines
from flexlet.api import decode, quantity
from flexlet.cli.calcinput import PodLine

COUNT = 1000


def run() -> list[tuple[str, float, str]]:
    """Milliseconds per 1,000 pods, with texts of quantities that were seen before and that were not."""
    lines = pod_lines(COUNT, seed=2)
    quantity.parse.cache_clear()
    return [
        ("1,000 pods, quantities never seen before", _decode(lines), "ms"),
        ("1,000 pods, quantities seen before", min(_decode(lines) for _ in range(5)), "ms"),
    ]


def _decode(lines: list[bytes]) -> float:
    began = time.perf_counter()
    for line in lines:
        decode.from_json(line, PodLine)
    return (time.perf_counter() - began) * 1000
