"""Changes source files a little, one place at a time, and tells which changes no test notices.

``python tools/mutate.py src/flexlet/apiserver/store/mark.py --tests tests/apiserver/store``. Every comparison,
boolean operator, constant, return value and statement without a value is changed in turn, in a copy of ``src``:
the working tree stays as it is. A change that fails a test, or makes the tests hang, is noticed; the others are
printed as survivors. A survivor is a missing test, or a change that makes no difference; only a reader can tell.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
WORDS = {
    "FULL": "OFF",
    "EXCLUSIVE": "NORMAL",
    "WAL": "DELETE",
    "TRUNCATE": "PASSIVE",
    "IMMEDIATE": "DEFERRED",
    "BEGIN": "SELECT 1 --",
    "ROLLBACK": "COMMIT",
    "ORDER BY revision": "ORDER BY revision DESC",
    "<=": "<",
    ">=": ">",
    "AND": "OR",
}
"""What a string of SQL is changed to; any other string becomes empty."""
REMOVABLE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Delete)
SHORTEST_S = 20.0


class Change(NamedTuple):
    """Another value for a field of a node, or for one place in a field that is a list."""

    node: ast.AST
    field: str
    at: int | None
    new: Any

    def swap(self) -> "Change":
        """Make the change; gives the one that takes it back."""
        place = getattr(self.node, self.field)
        if self.at is None:
            setattr(self.node, self.field, self.new)
            return self._replace(new=place)
        old, place[self.at] = place[self.at], self.new
        return self._replace(new=old)


class Mutant(NamedTuple):
    """A file with one change."""

    file: Path
    line: int
    words: str
    source: str


def changes(node: ast.AST) -> Iterator[Change]:
    """Everything that can be changed at one node."""
    match node:
        case ast.Compare(ops=operators):
            for index, operator in enumerate(operators):
                yield Change(node, "ops", index, COMPARISONS[type(operator)]())
        case ast.BoolOp(op=joint):
            yield Change(node, "op", None, ast.Or() if isinstance(joint, ast.And) else ast.And())
        case ast.BinOp(op=sign) if type(sign) in OPERATORS:
            yield Change(node, "op", None, OPERATORS[type(sign)]())
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield Change(node, "test", None, ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield Change(node, "value", None, ast.Constant(None))
        case ast.Constant(value=constant):
            yield from (Change(node, "value", None, other) for other in others(constant))
        case _:
            pass
    yield from removals(node)


def others(constant: object) -> list[object]:
    """What a literal is changed to."""
    match constant:
        case bool():
            return [not constant]
        case int() | float():
            return [constant + 1]
        case str() if constant:
            found = [
                re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", new, constant, count=1) for word, new in WORDS.items()
            ]
            return [other for other in found if other != constant] or [""]
        case _:
            return []


def removals(node: ast.AST) -> Iterator[Change]:
    """Statements below a node which nothing but their effect needs."""
    for field in ("body", "orelse", "finalbody"):
        statements = getattr(node, field, None)
        for index, statement in enumerate(statements if isinstance(statements, list) else ()):
            sets = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute)
            if (isinstance(statement, REMOVABLE) or sets) and not _is_text(statement):
                yield Change(node, field, index, ast.copy_location(ast.Pass(), statement))


def mutants(file: Path) -> Iterator[Mutant]:
    """The file with each change in turn; texts that only people read stay as they are."""
    tree = ast.parse(file.read_text())
    unread = {id(below) for node in ast.walk(tree) if _is_prose(node) for below in ast.walk(node)}
    for node in [node for node in ast.walk(tree) if id(node) not in unread]:
        for change in changes(node):
            place = node if change.at is None else getattr(node, change.field)[change.at]
            line = getattr(place, "lineno", getattr(node, "lineno", 0))
            before = _brief(place)
            back = change.swap()
            after = _brief(node if change.at is None else change.new)
            yield Mutant(file, line, f"{before}  ->  {after}", ast.unparse(ast.fix_missing_locations(tree)))
            back.swap()


def _is_prose(node: ast.AST) -> bool:
    """Whether it is a docstring, a message, a type, or a list of names."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    if isinstance(node, ast.Import | ast.ImportFrom | ast.AnnAssign) and not getattr(node, "value", None):
        return True
    return isinstance(node, ast.Raise) or (isinstance(node, ast.stmt) and _is_text(node))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _brief(node: ast.AST) -> str:
    text = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else type(node).__name__
    first, _, rest = text.partition("\n")
    return first[:90] + (" ..." if rest or len(first) > 90 else "")


class Bench:
    """A copy of ``src`` in which files are changed, and the tests that are run against it."""

    def __init__(self, folder: Path, tests: list[str]) -> None:
        self._source = folder / "src"
        shutil.copytree(ROOT / "src", self._source)
        # Bytecode of a changed file must not outlive the change, which may be within the clock's grain.
        self._environment = os.environ | {"PYTHONPATH": str(self._source), "PYTHONDONTWRITEBYTECODE": "1"}
        self._command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:randomly", *tests]

    def complaint(self, limit_s: float | None = None) -> str:
        """What pytest prints if a test fails or takes too long; nothing if all pass."""
        try:
            run = subprocess.run(
                self._command,
                cwd=ROOT,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "the tests do not end"
        return (run.stdout + run.stderr) if run.returncode else ""

    def survives(self, mutant: Mutant, limit_s: float) -> bool:
        """Whether no test notices the change."""
        file = self._source / mutant.file.resolve().relative_to(ROOT / "src")
        original = file.read_text()
        file.write_text(mutant.source)
        try:
            return not self.complaint(limit_s)
        finally:
            file.write_text(original)


def options() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description="Which changes of the source does no test notice?")
    parser.add_argument("files", nargs="+", type=Path, help="files below src/")
    parser.add_argument("--tests", required=True, help="what pytest is to run, as on its command line")
    parser.add_argument("--sample", type=int, help="so many changes, by chance, and not all of them")
    parser.add_argument("--seed", type=int, default=0, help="which ones; default 0")
    parser.add_argument("--match", default="", help="only changes whose description contains this text")
    return parser.parse_args()


def main() -> int:
    """Exit code 0 if every change is noticed, 1 if some are not, 2 if the tests fail without any."""
    asked = options()
    chosen = [mutant for file in asked.files for mutant in mutants(file) if asked.match in mutant.words]
    if asked.sample is not None and asked.sample < len(chosen):
        chosen = random.Random(asked.seed).sample(chosen, asked.sample)  # noqa: S311  no secret
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        bench = Bench(Path(folder), asked.tests.split())
        begin = time.monotonic()
        if complaint := bench.complaint():
            print(f"{complaint}\nthe tests fail without any change", file=sys.stderr)
            return 2
        limit_s = max(SHORTEST_S, 4 * (time.monotonic() - begin))
        survivors = 0
        for mutant in sorted(chosen):
            if bench.survives(mutant, limit_s):
                survivors += 1
                print(f"{mutant.file}:{mutant.line}: {mutant.words}", flush=True)
    print(f"{survivors} of {len(chosen)} changes survive", flush=True)
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
