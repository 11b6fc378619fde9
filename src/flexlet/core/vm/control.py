"""The launcher's control protocol: orders go in and reports come out, each one line of JSON.

A line that cannot be read is an InputError: the other end speaks another version. Fields that are not known are
ignored, so that one end may be newer than the other.
"""

from typing import Final

import msgspec

from flexlet.core.vm.guest import Order, Report
from flexlet.errors import InputError

LINE_LIMIT: Final = 256 * 1024
_ORDERS: Final = msgspec.json.Decoder(Order)
_REPORTS: Final = msgspec.json.Decoder(Report)
_ENCODER: Final = msgspec.json.Encoder()


def line(message: Order | Report) -> bytes:
    """A message as it travels."""
    return _ENCODER.encode(message) + b"\n"


def order(text: bytes) -> Order:
    """An order that came in."""
    try:
        read: Order = _ORDERS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read an order to a launcher: {error}") from error
    return read


def report(text: bytes) -> Report:
    """A report that came back."""
    try:
        return _REPORTS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the report of a launcher: {error}") from error
