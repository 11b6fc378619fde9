"""Start-up: what a person waits for before a command does anything."""

import statistics
import subprocess
import sys
import time

RUNS = 15


def run() -> list[tuple[str, float, str]]:
    """Milliseconds of whole processes, and how they compare to Python doing nothing."""
    commands = {
        "python -c pass": ["-c", "pass"],
        "flexlet --help": ["-m", "flexlet", "--help"],
        "flexlet calc quantity --jsonl": ["-m", "flexlet", "calc", "quantity", "--jsonl"],
        "flexlet calc quantity 1.5Gi": ["-m", "flexlet", "calc", "quantity", "1.5Gi"],
    }
    times = _medians(commands)
    nothing = times["python -c pass"]
    figures = [(label, milliseconds, "ms") for label, milliseconds in times.items()]
    ratios = [(f"{label} / python -c pass", ms / nothing, "times") for label, ms in times.items() if ms != nothing]
    return figures + ratios


def _medians(commands: dict[str, list[str]]) -> dict[str, float]:
    """Medians over rounds, so that a busy moment of the machine hits all commands alike."""
    samples: dict[str, list[float]] = {label: [] for label in commands}
    for _ in range(RUNS):
        for label, arguments in commands.items():
            samples[label].append(_milliseconds(arguments))
    return {label: statistics.median(values) for label, values in samples.items()}


def _milliseconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000
