"""``flexlet calc``: what a pod or a quantity comes to, without a cluster.

The figures are `flexlet.core.calc`; here is only how they get in and out. For a program: JSON lines in, JSON lines
out, under the names of the recorded vectors. For a person: YAML in, and a table that says where each figure comes
from. A document that cannot be computed costs one line on stderr and the exit code, never the other documents.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import click

from flexlet.api.quantity import ZERO, parse
from flexlet.errors import InputError

if TYPE_CHECKING:
    from flexlet.api.pod import Pod
    from flexlet.cli.calcinput import Task

DEFAULT_NODE_MEMORY: Final = "16Gi"
OUTPUTS: Final = ("table", "jsonl", "json")

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(OUTPUTS),
    help="A table for people, a JSON object a line, or a JSON array.  [default: table; jsonl with --jsonl]",
)


def _bytes(_context: click.Context, _option: click.Parameter, text: str) -> int:
    try:
        amount = parse(text)
    except InputError as error:
        raise click.BadParameter(f"{text!r} is not a quantity: {error.message}") from None
    if amount <= ZERO:
        raise click.BadParameter(f"{text} is not positive")
    return amount.value


@click.group()
def calc() -> None:
    """Compute what a pod or a quantity comes to, without a cluster."""


@calc.command()
@click.argument("files", nargs=-1)
@click.option("-f", "--filename", "more_files", multiple=True, metavar="FILE", help="One more of FILES.")
@click.option("--jsonl", is_flag=True, help='Read JSON lines: {"pod": {...}, "node_memory": bytes}.')
@click.option(
    "--node-memory",
    metavar="QUANTITY",
    default=DEFAULT_NODE_MEMORY,
    show_default=True,
    callback=_bytes,
    help="Memory of the node, which oom_score_adj depends on, where a line does not say.",
)
@click.option("--strict", is_flag=True, help="Refuse fields that Kubernetes does not know.")
@output_option
@click.pass_context
def pod(
    context: click.Context,
    files: tuple[str, ...],
    more_files: tuple[str, ...],
    jsonl: bool,
    node_memory: int,
    strict: bool,
    output: str | None,
) -> None:
    """Show what pods come to: totals, QoS class, cgroup values, oom scores.

    Reads Pods as YAML or JSON documents (several per file, or a List) from FILES, or from standard input if there
    are none; "-" is standard input, too. Exit code 1 if any of them could not be computed.
    """
    from flexlet.cli import calcinput, calcoutput

    problems = Problems()
    tasks = calcinput.tasks((*files, *more_files) or (calcinput.STDIN,), jsonl=jsonl, strict=strict)
    calcoutput.print_pods(_computable(tasks, node_memory, problems), output or ("jsonl" if jsonl else "table"))
    context.exit(1 if problems.seen else 0)


@calc.command()
@click.argument("texts", nargs=-1, metavar="[QUANTITY]...")
@click.option("--jsonl", is_flag=True, help='Read JSON lines {"in": text} from standard input.')
@output_option
@click.pass_context
def quantity(context: click.Context, texts: tuple[str, ...], jsonl: bool, output: str | None) -> None:
    """Show what quantities such as 1.5Gi or 250m stand for.

    VALUE is the whole number, MILLI the thousandths; both are rounded up, as Kubernetes does.
    """
    if bool(texts) == jsonl:
        raise click.UsageError("give quantities as arguments, or --jsonl and lines on standard input")
    from flexlet.cli import calcoutput, calcquantity

    problems = Problems()
    output = output or ("jsonl" if jsonl else "table")
    answers = map(calcquantity.answer, calcquantity.lines(problems.add) if jsonl else texts)
    calcoutput.print_quantities(answers, output, problems.add)
    context.exit(1 if problems.seen else 0)


class Problems:
    """Says what went wrong, a line each on stderr, and remembers that something did."""

    def __init__(self) -> None:
        self.seen = False

    def add(self, text: str) -> None:
        """Report one problem."""
        self.seen = True
        click.echo(f"error: {text}", err=True)


def _computable(tasks: Iterable["Task"], node_memory: int, problems: Problems) -> Iterator[tuple["Pod", int]]:
    for task in tasks:
        if task.pod is None:
            problems.add(f"{task.label}: {task.problem}")
        else:
            yield task.pod, task.node_memory or node_memory
