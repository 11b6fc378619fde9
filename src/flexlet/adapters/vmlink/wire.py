"""Orders and reports as lines of JSON, for every kind of line alike."""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.core.vm.guest import Order, Report
from flexlet.errors import HypervisorGone

_orders: Final[msgspec.json.Decoder[Order]] = msgspec.json.Decoder(Order)
_reports: Final = msgspec.json.Decoder(Report)
_LONGEST: Final = 1 << 20
"""A launcher that says more than this in one line is none."""


def line(value: Order | Report) -> bytes:
    """An order or a report, ready to be sent."""
    return msgspec.json.encode(value) + b"\n"


def order(data: bytes) -> Order:
    """An order that came in; MsgspecError if it is none."""
    return _orders.decode(data)


def report(data: bytes) -> Report:
    """A report that came in; HypervisorGone if it is none, for who says such things is no launcher."""
    try:
        return _reports.decode(data)
    except msgspec.MsgspecError as error:
        raise HypervisorGone(f"the launcher says what is no report: {error}: {data[:200]!r}") from error


class Reports:
    """Cuts bytes into reports."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Report]:
        """Those that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST:
            raise HypervisorGone(f"the launcher says more than {_LONGEST} bytes in one line")
        return (report(each) for each in lines if each.strip())
