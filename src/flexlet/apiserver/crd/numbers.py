"""Numbers against their limits, with upstream's distinction between integers and floats.

The schema's limits are floats; a value that is an integer is compared with the limit cut to an integer. A limit
that is itself no number of the schema's type is complained about whenever there is a value.
"""

import math
import struct
from collections.abc import Iterator
from typing import Final

from flexlet.api import gotext
from flexlet.apiserver.crd.findings import Finding, remark
from flexlet.apiserver.crd.node import Node

MAX_SAFE: Final = 2**53 - 1
_TOLERANCE: Final = 1e-9


def is_whole(number: float) -> bool:
    """Whether a float counts as an integer."""
    if not math.isfinite(number) or abs(number) > MAX_SAFE:
        return False
    if number == math.trunc(number):
        return True
    whole = math.trunc(number) if number > 0 else 0
    return whole != 0 and abs(number - whole) / (abs(number) + whole) < _TOLERANCE


def check(node: Node, value: float, path: str) -> Iterator[Finding]:
    """What is wrong with a number."""
    kind = node.types[0] if len(node.types) == 1 and node.types[0] in {"integer", "number"} else ""
    form = node.format if kind else ""
    if text := _out_of_range(value, kind, form, "Checked", path):
        yield remark(text)
    limits = node.limits
    if limits is None:
        return
    if limits.multiple_of is not None:
        text = _out_of_range(limits.multiple_of, kind, form, "MultipleOf", path)
        yield from _multiple(value, limits.multiple_of, path, text)
    if limits.minimum is not None:
        text = _out_of_range(limits.minimum, kind, form, "Minimum boundary", path)
        yield from _bound(value, limits.minimum, path, text, limits.exclusive_minimum, -1)
    if limits.maximum is not None:
        text = _out_of_range(limits.maximum, kind, form, "Maximum boundary", path)
        yield from _bound(value, limits.maximum, path, text, limits.exclusive_maximum, 1)


def _out_of_range(value: float, kind: str, form: str, what: str, path: str) -> str:
    """The complaint about a number that its type cannot hold; empty if it can."""
    if kind == "integer":
        limit = 2**31 if form == "int32" else 2**63
        fits = value == math.trunc(value) and -limit <= value < limit
    else:
        fits = form != "float" or _is_single(value)
    if fits:
        return ""
    detail = f"with format {form}" if form else "(default format)"
    return f"{what} value must be of type {kind} {detail} in {path}"


def _is_single(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def _bound(value: float, limit: float, path: str, text: str, exclusive: bool, side: int) -> Iterator[Finding]:
    """A maximum (`side` 1) or a minimum (-1)."""
    if text:
        yield remark(text)
        value = float(value)
    bound: float = math.trunc(limit) if isinstance(value, int) else limit
    if side * value < side * bound or (value == bound and not exclusive):
        return
    word = "less" if side > 0 else "greater"
    relation = f"{word} than" if exclusive else f"{word} than or equal to"
    yield Finding(path, f"{path} in body should be {relation} {gotext.sprint(bound)}", value=value)


def _multiple(value: float, factor: float, path: str, text: str) -> Iterator[Finding]:
    if text:
        yield remark(text)
        value = float(value)
    unit: float = math.trunc(factor) if isinstance(value, int) else factor
    if unit <= 0:
        message = f"factor MultipleOf declared for {path} must be positive: {gotext.sprint(unit)}"
        yield Finding(path, message, value=unit)
        return
    if isinstance(value, int):
        fits = value % unit == 0
    else:
        fits = is_whole(1 / unit * value if unit < 1 else value / unit)
    if not fits:
        yield Finding(path, f"{path} in body should be a multiple of {gotext.sprint(unit)}", value=value)
