"""Orders and reports as lines."""

import pytest

from flexlet.core.vm import control
from flexlet.core.vm.guest import Answer, Listen, MigrateCancel, Order, PowerDown, Report, SetSize
from flexlet.errors import InputError

REPORT = Report(
    run_state="Running",
    vcpus=3,
    vcpus_online=2,
    memory=1 << 30,
    requested=2 << 30,
    order="7",
    ram=Answer("Changing"),
)


@pytest.mark.parametrize("order", [SetSize("7", 3, 1 << 30), PowerDown(), Listen("tcp:0:1"), MigrateCancel()])
def test_an_order_arrives_as_it_was_given(order: Order) -> None:
    line = control.line(order)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert control.order(line) == order


def test_a_report_arrives_as_it_was_given() -> None:
    assert control.report(control.line(REPORT)) == REPORT


def test_fields_of_a_newer_launcher_are_ignored() -> None:
    assert control.report(b'{"run_state":"Paused","mood":"fine"}') == Report(run_state="Paused")


@pytest.mark.parametrize("text", [b"hello", b'{"type":"dance"}', b"\xff\n", b'{"type":"setSize","id":"1"}'])
def test_an_order_that_cannot_be_read(text: bytes) -> None:
    with pytest.raises(InputError, match="cannot read an order to a launcher"):
        control.order(text)


def test_a_report_that_cannot_be_read() -> None:
    with pytest.raises(InputError, match="cannot read the report of a launcher"):
        control.report(b"{}")
