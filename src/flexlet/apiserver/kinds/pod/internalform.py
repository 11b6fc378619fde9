"""Pod specs as upstream's error texts show them: in internal form, whole or as a unified diff.

``pod updates may not change fields other than ...`` ends with a diff of two specs, printed as indented JSON of
the internal types; a few other texts carry a struct as compact JSON. The order and the defaults of unset fields
come from `internaltypes`. Only refusals come here, so it may be slow, but not for long: comparing lines takes time
by the square of their number, so a large diff is one block of changes, and a huge one is not shown.
"""

import difflib
import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.internaltypes import FIELDS

CONTEXT_LINES: Final = 3
MAX_COMPARED: Final = 4000
"""Lines of both specs together; a pod of ten containers has some 900 of them twice."""
MAX_SHOWN: Final = 1000
MAX_BYTES: Final = 64 * 1024
"""Of JSON, both specs together; written out with all their unset fields they are ten times as long."""
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_ZEROS: Final[dict[str, Any]] = {"": "", "#": 0, "!": False, "%": "0"}
_SHAPES: Final = "#!%?*."


def diff(old: Object, new: Object, kind: str) -> str:
    """What changed between two objects of an internal type, as a unified diff without file names."""
    size = len(msgspec.json.encode(old)) + len(msgspec.json.encode(new))
    if size > MAX_BYTES:
        return f"(the difference of two specs of {size} bytes together is not shown)\n"
    before, after = _lines(old, kind), _lines(new, kind)
    if len(before) + len(after) > MAX_COMPARED:
        return _roughly(before, after)
    hunks = difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT_LINES)
    return "".join(line for hunk in hunks for line in _hunk(hunk, before, after))


def _roughly(before: list[str], after: list[str]) -> str:
    """The lines between the first that differs and the last, as one change, and not all of them."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    tail = next((at for at in range(shorter - head) if before[-1 - at] != after[-1 - at]), shorter - head)
    gone, new = before[head : len(before) - tail], after[head : len(after) - tail]
    context = before[max(0, head - CONTEXT_LINES) : head]
    half = MAX_SHOWN // 2
    shown = [*(f" {line}" for line in context), *(f"-{line}" for line in gone[:half])]
    shown += [f"+{line}" for line in new[:half]]
    left_out = max(0, len(gone) - half) + max(0, len(new) - half)
    start = head - len(context)
    ranges = f"@@ -{_range(start, head + len(gone))} +{_range(start, head + len(new))} @@\n"
    return ranges + "".join(shown) + (f"... and {left_out} more lines\n" if left_out else "")


def compact(value: Object, kind: str) -> str:
    """One object of an internal type as compact JSON."""
    return gotext.json_text(internal(value, kind))


def internal(value: Object, kind: str) -> Object:
    """A JSON object with the field names, the order and the unset fields of the internal type."""
    if kind == "PodSpec":
        value = _with_host_fields(value)
    return {go: render(value.get(name)) for go, name, render in _fields(kind)}


def _with_host_fields(spec: Object) -> Object:
    """The host namespaces sit in the security context internally."""
    context = dict(spec.get("securityContext") or {})
    context.update({key: spec[key] for key in _HOST_FIELDS if key in spec})
    return {**spec, "securityContext": context}


@functools.cache
def _fields(kind: str) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    return tuple(map(_field, FIELDS[kind].split()))


def _field(token: str) -> tuple[str, str, Callable[[Any], Any]]:
    cut = next((i for i, character in enumerate(token) if character in _SHAPES), len(token))
    names, shape = token[:cut], token[cut:]
    go, _, name = names.partition("=")
    return go, name or _json_name(go), _renderer(shape)


def _json_name(go: str) -> str:
    """``DNSPolicy`` becomes dnsPolicy, ``TTY`` becomes tty."""
    capitals = next((i for i, character in enumerate(go) if not character.isupper()), len(go))
    head = capitals if capitals in {1, len(go)} else capitals - 1
    return go[:head].lower() + go[head:]


def _renderer(shape: str) -> Callable[[Any], Any]:
    if shape in _ZEROS:
        return functools.partial(_scalar, _ZEROS[shape])
    mark, kind = shape[0], shape[1:]
    if kind in {"", "LabelSelector"}:
        return _selector if kind else _plain
    if mark == "*":
        return lambda value: None if value is None else [internal(item, kind) for item in value]
    if mark == ".":
        return lambda value: internal(value or {}, kind)
    return lambda value: None if value is None else internal(value, kind)


def _scalar(zero: Any, value: Any) -> Any:
    return zero if value is None else value


def _plain(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _selector(value: Object | None) -> Object | None:
    """Selectors have no internal form; they print as in the API."""
    if value is None:
        return None
    expressions = [
        {key: item[key] for key in ("key", "operator", "values") if key in item}
        for item in value.get("matchExpressions") or ()
    ]
    both = {"matchLabels": _plain(value.get("matchLabels")), "matchExpressions": expressions}
    return {key: content for key, content in both.items() if content}


def _lines(value: Object, kind: str) -> list[str]:
    text = json.dumps(internal(value, kind), indent=1, ensure_ascii=False)
    return [f"{line}\n" for line in text.split("\n")]


def _hunk(opcodes: list[tuple[str, int, int, int, int]], before: list[str], after: list[str]) -> Iterator[str]:
    first, last = opcodes[0], opcodes[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal":
            yield from (f" {line}" for line in before[i1:i2])
            continue
        yield from (f"-{line}" for line in before[i1:i2])
        yield from (f"+{line}" for line in after[j1:j2])


def _range(start: int, stop: int) -> str:
    """Line numbers as unified diffs count them: from one, a length of one left out."""
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"
