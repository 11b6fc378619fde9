"""``python -m bench [-o json] [name...]``: run benches and print one table, or a list for programs.

A bench is a module of this package with a function ``run() -> list[tuple[str, float, str]]``: label, figure, unit.
Figures are for comparing on one machine; nothing fails because of them. A bench that fails is told about, the
others run all the same, and the exit status says that there was one.
"""

import argparse
import importlib
import json
import pkgutil
import sys
import traceback
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
    parser = argparse.ArgumentParser(prog="bench", description="measure flexlet on this machine")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no bench called {', '.join(unknown)}; there are {', '.join(known)}")
    failed: list[str] = []
    rows = [(name, *figure) for name in given.names or known for figure in _told(name, failed)]
    if given.output == "json":
        keys = ("bench", "what", "figure", "unit")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=1))
    else:
        _show(rows)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _told(name: str, failed: list[str]) -> list[Figure]:
    """The figures of one bench; what goes wrong in it does not cost the others theirs."""
    print(f"running {name} ...", file=sys.stderr)
    try:
        return run(name)
    except Exception:  # noqa: BLE001  whatever it is, the other benches have nothing to do with it
        traceback.print_exc()
        failed.append(name)
        return []


def _show(rows: list[tuple[str, str, float, str]]) -> None:
    table = Table("BENCH", "WHAT", "FIGURE", "UNIT", box=None, pad_edge=False)
    for name, label, figure, unit in rows:
        table.add_row(name, label, f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}", unit)
    Console().print(table)


if __name__ == "__main__":
    main()
