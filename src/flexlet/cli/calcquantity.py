"""Quantities in and out of ``flexlet calc quantity``."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from flexlet.api.quantity import parse
from flexlet.errors import InputError


class QuantityLine(msgspec.Struct, frozen=True):
    """One JSON line; what else it holds is ignored."""

    text: str = msgspec.field(name="in")


def lines(report: Callable[[str], None]) -> Iterator[str]:
    """The texts of JSON lines on standard input; a line that cannot be read is reported and skipped."""
    decoder = msgspec.json.Decoder(QuantityLine)
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.isspace():
            continue
        try:
            yield decoder.decode(line).text
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            report(f"stdin, line {number}: {error}")


def answer(text: str) -> dict[str, Any]:
    """What upstream's parser makes of a text."""
    try:
        quantity = parse(text)
    except InputError:
        return {"in": text, "ok": False}
    return {"in": text, "ok": True, "canonical": str(quantity), "value": quantity.value, "milli": quantity.milli}
