"""D-Bus as bytes, compared with what another implementation (dbus-fast) makes of the same messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.adapters.units import wire
from flexlet.adapters.units.wire import Malformed, Message, Variant

START = (
    "6c010001a800000007000000b600000001016f00190000002f6f72672f667265656465736b746f702f73797374656d643100"
    "00000000000002017300200000006f72672e667265656465736b746f702e73797374656d64312e4d616e6167657200000000"
    "00000000030173001200000053746172745472616e7369656e74556e697400000000000006017300180000006f72672e6672"
    "65656465736b746f702e73797374656d64310000000000000000080167001073736128737629612873612873762929000000"
    "0e0000006b756265706f64732e736c6963650000070000007265706c616365007a000000000000000500000057616e747300"
    "0261730000000c00000007000000612e736c69636500090000004d656d6f72794d61780001740000000000000000ffffffff"
    "ffffffff0d0000004350554163636f756e74696e670001620000000001000000000000000b000000416c6c6f776564435055"
    "730002617900020000000501000000000000"
)
JOB_REMOVED = (
    "6c0400013d000000080000007a00000001016f00190000002f6f72672f667265656465736b746f702f73797374656d643100"
    "00000000000002017300200000006f72672e667265656465736b746f702e73797374656d64312e4d616e6167657200000000"
    "00000000030173000a0000004a6f6252656d6f7665640000000000000801670004756f737300000000000000090000001f00"
    "00002f6f72672f667265656465736b746f702f73797374656d64312f6a6f622f390007000000612e736c6963650004000000"
    "646f6e6500"
)
MANAGER = {wire.PATH: "/org/freedesktop/systemd1", wire.INTERFACE: "org.freedesktop.systemd1.Manager"}
MESSAGES = (
    (
        START,
        Message(
            wire.CALL,
            7,
            {**MANAGER, wire.MEMBER: "StartTransientUnit", wire.DESTINATION: "org.freedesktop.systemd1"},
            "ssa(sv)a(sa(sv))",
            (
                "kubepods.slice",
                "replace",
                [
                    ("Wants", Variant("as", ["a.slice"])),
                    ("MemoryMax", Variant("t", 2**64 - 1)),
                    ("CPUAccounting", Variant("b", value=True)),
                    ("AllowedCPUs", Variant("ay", bytes([5, 1]))),
                ],
                [],
            ),
        ),
    ),
    (
        JOB_REMOVED,
        Message(
            wire.SIGNAL,
            8,
            {**MANAGER, wire.MEMBER: "JobRemoved"},
            "uoss",
            (9, "/org/freedesktop/systemd1/job/9", "a.slice", "done"),
        ),
    ),
)


@pytest.mark.parametrize(("text", "message"), MESSAGES)
def test_messages_are_those_of_the_specification(text: str, message: Message) -> None:
    raw = bytes.fromhex(text)
    assert wire.encode(message) == raw
    assert wire.decode(raw) == message
    assert wire.length(raw[: wire.HEAD]) == len(raw)


def test_every_type_is_read() -> None:
    """Its manager tells of changed properties without being asked, in dictionaries of anything."""
    body = (-2, 3, -4, -5, 1.5, [("a", Variant("i", -1)), ("b", Variant("ad", [0.5]))], b"xy", "t")
    message = Message(wire.SIGNAL, 1, {}, "nqixda{sv}ayg", body)
    assert wire.decode(wire.encode(message)) == message


def test_the_other_byte_order_is_read() -> None:
    raw = bytes.fromhex("42020001000000040000000200000008050175000000000700000000")
    assert wire.decode(raw) == Message(wire.REPLY, 2, {wire.REPLY_SERIAL: 7})


@given(st.integers(0, len(START) // 2 - 1))
def test_a_message_cut_short_is_malformed(size: int) -> None:
    with pytest.raises(Malformed):
        wire.decode(bytes.fromhex(START)[:size])


@given(st.binary(max_size=300))
def test_noise_is_malformed_or_a_message(noise: bytes) -> None:
    """Nothing else comes out of it, whatever a peer sends."""
    for raw in (noise, b"l\x04\x00\x01" + noise):
        try:
            wire.decode(raw)
        except Malformed:
            continue


def test_a_message_of_any_length_is_not_waited_for() -> None:
    with pytest.raises(Malformed, match="a message of"):
        wire.length(b"l\x01\x00\x01" + b"\xff" * 12)
