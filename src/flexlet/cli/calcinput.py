"""The pods that ``flexlet calc pod`` is given: documents of a file, or JSON lines.

Each becomes a Task, and a broken one becomes a Task with a problem, so that the command can go on with the rest. A
problem is one line that names the place: which file, which document or line, which path inside.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.core.calc.checks import check
from flexlet.errors import InputError

STDIN: Final = "-"


class Task(msgspec.Struct, frozen=True):
    """A pod to compute, or the problem that keeps it from being computed."""

    label: str
    pod: Pod | None = None
    node_memory: int | None = None
    problem: str = ""


class PodLine(msgspec.Struct, frozen=True):
    """One JSON line; what else it holds is ignored."""

    pod: Pod | None = None
    node_memory: int | None = None


def tasks(sources: Iterable[str], *, jsonl: bool = False, strict: bool = False) -> Iterator[Task]:
    """The pods of all sources: file names, or "-" for standard input."""
    for source in sources:
        try:
            if source == STDIN:
                if sys.stdin.isatty():
                    print("reading pods from standard input; Ctrl-D ends them", file=sys.stderr)
                yield from _read(sys.stdin.buffer, "stdin", jsonl, strict)
            else:
                with Path(source).open("rb") as file:
                    yield from _read(file, source, jsonl, strict)
        except OSError as error:
            yield Task(source, problem=f"cannot read it: {error.strerror}")


def _read(file: BinaryIO, source: str, jsonl: bool, strict: bool) -> Iterator[Task]:
    return from_lines(file, source, strict=strict) if jsonl else from_documents(file.read(), source, strict=strict)


def from_documents(data: bytes, source: str, *, strict: bool = False) -> Iterator[Task]:
    """The pods of a YAML or JSON file."""
    from flexlet.cli.documents import documents  # PyYAML; JSON lines do without

    for document in documents(data, source):
        if document.problem:
            yield Task(document.label, problem=document.problem)
            continue
        try:
            yield Task(document.label, _pod_of(document.value, strict))
        except InputError as error:
            yield Task(document.label, problem=f"{error.path}: {error.message}")


def from_lines(lines: Iterable[bytes], source: str, *, strict: bool = False) -> Iterator[Task]:
    """The pods of JSON lines ``{"pod": …, "node_memory": N}``; empty lines are skipped."""
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            entry = _line(line, strict)
        except InputError as error:
            yield Task(f"{source}, line {number}", problem=f"{error.path}: {error.message}")
        else:
            yield Task(f"{source}, line {number}", entry.pod, entry.node_memory)


def _line(line: bytes, strict: bool) -> PodLine:
    entry = decode.from_json(line, PodLine)
    if entry.pod is None:
        raise InputError("there is no pod in this line", "$.pod")
    if entry.node_memory is not None and entry.node_memory <= 0:
        raise InputError(f"{entry.node_memory} is not positive", "$.node_memory")
    try:
        if strict:
            refuse_unknown_fields(msgspec.json.decode(line)["pod"])
        check(entry.pod)
    except InputError as error:
        raise InputError(error.message, error.path.replace("$", "$.pod", 1)) from None
    return entry


def _pod_of(value: Any, strict: bool) -> Pod:
    if not isinstance(value, dict):
        raise InputError(f"expected a Pod, got {type(value).__name__}")
    for key, wanted in (("apiVersion", "v1"), ("kind", "Pod")):
        if value.get(key, wanted) != wanted:
            raise InputError(f"expected {wanted}, got {value[key]}", f"$.{key}")
    pod = decode.from_value(value, Pod)
    if strict:
        refuse_unknown_fields(value)
    check(pod)
    return pod


def refuse_unknown_fields(value: Any) -> None:
    """Raise InputError for fields of a Pod that Kubernetes does not know; the path is that of the first."""
    from flexlet.api import schema  # all types of the API; only strict reading needs them

    into = schema.type_for("", "v1", "Pod")
    complaints = schema.read_value(into, value).complaints if into is not None else ()
    if complaints:
        _, _, field = complaints[0].partition('"')
        others = f", and {len(complaints) - 1} more" if len(complaints) > 1 else ""
        raise InputError(f"unknown field{others}", "$." + field.removesuffix('"'))
