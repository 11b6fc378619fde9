"""``flexlet calc pod --jsonl -o jsonl`` in process: decode a line, compute everything, encode the answer."""

import time

import msgspec

from bench.podlines import pod_lines
from flexlet.cli import calcinput
from flexlet.core.calc.figures import figures

COUNT = 10_000


def run() -> list[tuple[str, float, str]]:
    """Pods per second of CPU time, so that a busy machine does not count."""
    lines = pod_lines(COUNT)
    began = time.process_time()
    answers = _answers(lines)
    took = time.process_time() - began
    return [(f"{len(answers):,} generated pods, JSON line in, JSON line out", len(answers) / took, "pods/s")]


def _answers(lines: list[bytes]) -> list[bytes]:
    encoder = msgspec.json.Encoder()
    return [
        encoder.encode(figures(task.pod, task.node_memory or 0))
        for task in calcinput.from_lines(lines, "bench")
        if task.pod is not None
    ]
