"""Documents that people hand to a command: YAML or JSON, one file or many, one document or many.

Every document is read on its own, so that a broken one does not take the others with it; its label ("pods.yaml,
document 2") says where an error lies. The items of a List count as documents. YAML is read the way Kubernetes
does: dates and sexagesimal numbers stay text.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from flexlet.adapters import yamldepth

_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_SPACE: Final = re.compile(r"\s*")
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_INTEGER: Final = "tag:yaml.org,2002:int"
_FLOAT: Final = "tag:yaml.org,2002:float"


class Document(msgspec.Struct, frozen=True):
    """One document: its value, or the problem that kept it from being read."""

    label: str
    value: Any = None
    problem: str = ""


def documents(data: bytes, source: str) -> Iterator[Document]:
    """The documents of a file; `source` is what error messages call it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Document(source, problem=f"not UTF-8 text: {error.reason} at byte {error.start}")
        return
    found = _json_documents(text) if text.lstrip()[:1] in ("{", "[") else None
    numbered = enumerate(found if found is not None else _yaml_documents(text), 1)
    for number, (value, problem) in numbered:
        label = f"{source}, document {number}"
        if problem:
            yield Document(label, problem=problem)
        else:
            yield from _flattened(label, value)


def _flattened(label: str, value: Any) -> Iterator[Document]:
    """A List stands for its items."""
    items = value.get("items") if isinstance(value, dict) else None
    if isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        for number, item in enumerate(items, 1):
            yield Document(f"{label}, item {number}", item)
    else:
        yield Document(label, value)


def _json_documents(text: str) -> list[tuple[Any, str]] | None:
    """JSON values one after the other, as jq prints them; None if it is no JSON throughout."""
    decoder, position, found = json.JSONDecoder(), _end_of_space(text, 0), []
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            return None
        found.append((value, ""))
        position = _end_of_space(text, position)
    return found


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _yaml_documents(text: str) -> Iterator[tuple[Any, str]]:
    start = 0
    for end in (*(match.start() for match in _SEPARATOR.finditer(text)), len(text)):
        part = _SEPARATOR.sub("   ", text[start:end], count=1)
        if not all(map(_is_void, part.splitlines())):
            yield _yaml_document(part, first_line=text.count("\n", 0, start))
        start = end


def _is_void(line: str) -> bool:
    """Whether a line holds no content: blank, a comment, a directive, an end marker."""
    text = line.strip()
    return not text or text[0] in "#%" or text == "..."


def _yaml_document(part: str, first_line: int) -> tuple[Any, str]:
    try:
        yamldepth.require(part)
        return yaml.load(part, _Loader), ""  # noqa: S506 a safe loader, with fewer tags than yaml.safe_load
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f"line {first_line + mark.line + 1}, column {mark.column + 1}: " if mark else ""
        return None, f"not YAML: {line}{error.problem}"
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return None, f"not YAML: {' '.join(str(error).split())}"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML's core types without dates; integers and floats without colons."""


def _without(resolvers: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [entry for entry in resolvers if entry[0] not in (_TIMESTAMP, _INTEGER, _FLOAT)]


_Loader.yaml_implicit_resolvers = {
    first: _without(resolvers) for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _INTEGER, re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)\Z"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r"(?:[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.nan)\Z"
    ),
    list("-+0123456789."),
)
