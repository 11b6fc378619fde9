"""What ``flexlet calc`` prints: JSON for programs, tables for people.

JSON lines leave as they are computed, so that a pipe can be read while it is written. A reader that goes away
raises BrokenPipeError, which `flexlet.cli.main` knows. Quantities come without rich: their table is plain, and so
quick that a shell script can ask for one.
"""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from flexlet.cli.output import columns

if TYPE_CHECKING:
    from flexlet.api.pod import Pod

Answer = dict[str, Any]


def print_pods(pods: Iterable[tuple["Pod", int]], output: str) -> None:
    """The figures of pods, each on a node of its own size."""
    if output == "table":
        from flexlet.cli import calctable

        for pod, node_memory in pods:
            calctable.print_pod(pod, node_memory)
        return
    from flexlet.core.calc.figures import figures

    _print_json((figures(pod, node_memory) for pod, node_memory in pods), output)


def print_quantities(answers: Iterable[Answer], output: str, report: Callable[[str], None]) -> None:
    """What quantities stand for; in a table there is no place for a text that is none, so it is reported."""
    if output != "table":
        _print_json(answers, output)
        return
    rows = [("QUANTITY", "CANONICAL", "VALUE", "MILLI")]
    for answer in answers:
        if answer["ok"]:
            rows.append((answer["in"], answer["canonical"], str(answer["value"]), str(answer["milli"])))
        else:
            report(f"{answer['in']!r} is not a quantity")
    if len(rows) > 1:
        for line in columns(rows):
            print(line)


def _print_json(values: Iterable[Any], output: str) -> None:
    stdout = sys.stdout.buffer
    encoder = msgspec.json.Encoder()
    if output == "json":
        stdout.write(msgspec.json.format(encoder.encode(list(values))) + b"\n")
        return
    for value in values:
        stdout.write(encoder.encode(value) + b"\n")
