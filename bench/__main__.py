"""``python -m bench [name...]``: run benches and print one table.

A bench is a module of this package with a function ``run() -> list[tuple[str, float, str]]``: label, figure, unit.
Figures are for comparing on one machine; nothing fails because of them.
"""

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Figure = tuple[str, float, str]


def names() -> list[str]:
    """The benches there are: modules of this package that have a `run`."""
    found = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return [
        name for name in found if name != "__main__" and hasattr(importlib.import_module(f"bench.{name}"), "run")
    ]


def run(name: str) -> list[Figure]:
    """Run one bench."""
    figures: list[Figure] = _module(name).run()
    return figures


def _module(name: str) -> Any:
    return importlib.import_module(f"bench.{name}")


def main() -> None:
    """Run the benches named on the command line, all of them by default."""
    known = names()
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no bench called {', '.join(unknown)}; there are {', '.join(known)}")
    table = Table("BENCH", "WHAT", "FIGURE", "UNIT", box=None, pad_edge=False)
    for name in wanted:
        print(f"running {name} ...", file=sys.stderr)
        for label, figure, unit in run(name):
            table.add_row(name, label, f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}", unit)
    Console().print(table)


if __name__ == "__main__":
    main()
