"""The table of ``flexlet calc pod``; rich is loaded only here."""

from typing import Final

from rich.console import Console
from rich.table import Table

from flexlet.api.pod import Pod
from flexlet.api.quantity import Quantity
from flexlet.core.calc.origins import origins

_WIDE: Final = 200  # where no terminal says otherwise, lines must not break


def print_pod(pod: Pod, node_memory: int) -> None:
    """All figures of a pod, each with where it comes from."""
    meta = pod.metadata
    name = f"{meta.namespace or 'default'}/{meta.name or meta.generate_name or '(no name)'}"
    console = _console()
    console.print(f"{name} on a node with {Quantity.of_bytes(node_memory)} of memory", style="bold", markup=False)
    table = _table("FIGURE", "VALUE", "WHERE IT COMES FROM")
    for row in origins(pod, node_memory):
        table.add_row(row.figure, row.value, row.reason)
    console.print(table)
    console.print()


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column)
    return table


def _console() -> Console:
    console = Console(markup=False, highlight=False)
    return console if console.is_terminal else Console(markup=False, highlight=False, width=_WIDE)
