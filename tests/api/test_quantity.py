import json
from pathlib import Path
from typing import Any

import pytest

from flexlet.api.quantity import (
    BINARY_SI,
    DECIMAL_EXPONENT,
    DECIMAL_SI,
    ZERO,
    Quantity,
    canonical,
)
from flexlet.errors import InputError

VECTORS = Path(__file__).parent.parent / "data" / "vectors"
WRONG_SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"
WRONG_NUMBER = "unable to parse numeric part of quantity"


@pytest.mark.parametrize("name", ["quantity.jsonl", "quantity-overflow.jsonl"])
def test_vectors(name: str) -> None:
    """Every recorded answer of upstream's parser is ours, word for word."""
    recorded = [json.loads(line) for line in (VECTORS / name).read_text().splitlines()]
    assert [answer(entry["in"]) for entry in recorded] == recorded


def answer(text: str) -> dict[str, Any]:
    try:
        quantity = Quantity.parse(text)
    except InputError:
        return {"in": text, "ok": False}
    return {
        "in": text,
        "ok": True,
        "canonical": str(quantity),
        "value": quantity.value,
        "milli": quantity.milli,
    }


@pytest.mark.parametrize(
    ("text", "printed", "value", "milli"),
    [
        ("0", "0", 0, 0),
        ("0Gi", "0", 0, 0),
        ("1.5", "1500m", 2, 1500),
        ("1.50", "1500m", 2, 1500),
        ("+1.5", "1500m", 2, 1500),
        ("0.1", "100m", 1, 100),
        ("100m", "100m", 1, 100),
        (".5", "500m", 1, 500),
        ("5.", "5.", 5, 5000),
        ("+1", "+1", 1, 1000),
        ("01", "01", 1, 1000),
        ("-", "0", 0, 0),
        (".", "0", 0, 0),
        ("+Gi", "0", 0, 0),
        ("0.0005", "500u", 1, 1),
        ("250u", "250u", 1, 1),
        ("1n", "1n", 1, 1),
        ("0.1n", "1n", 1, 1),
        ("1.1m", "1100u", 1, 2),
        ("1000", "1k", 1000, 1000000),
        ("1000000", "1M", 1000000, 1000000000),
        ("1000G", "1T", 10**12, 10**15),
        ("1024", "1024", 1024, 1024000),
        ("2048", "2048", 2048, 2048000),
        ("1024000", "1024k", 1024000, 1024000000),
        ("1024Mi", "1Gi", 2**30, 2**30 * 1000),
        ("1048576Ki", "1Gi", 2**30, 2**30 * 1000),
        ("2048Mi", "2Gi", 2**31, 2**31 * 1000),
        ("1000Mi", "1000Mi", 1048576000, 1048576000000),
        ("1025Mi", "1025Mi", 1074790400, 1074790400000),
        ("1000Ki", "1000Ki", 1024000, 1024000000),
        ("1.5Gi", "1536Mi", 1610612736, 1610612736000),
        ("0.5Mi", "512Ki", 524288, 524288000),
        ("0.25Gi", "256Mi", 268435456, 268435456000),
        ("1.5Ki", "1536", 1536, 1536000),
        ("0.5Ki", "512", 512, 512000),
        ("0.0001Ki", "102400u", 1, 103),
        ("0.1Gi", "107374182400m", 107374183, 107374182400),
        ("1.1Gi", "1181116006400m", 1181116007, 1181116006400),
        ("1e3", "1e3", 1000, 1000000),
        ("1E3", "1E3", 1000, 1000000),
        ("12e6", "12e6", 12000000, 12000000000),
        ("1e10", "10e9", 10**10, 10**13),
        ("10e5", "1e6", 1000000, 1000000000),
        ("5e-1", "500e-3", 1, 500),
        ("1.5e3", "1500", 1500, 1500000),
        ("-1.5", "-1500m", -2, -1500),
        ("-0.5Gi", "-512Mi", -536870912, -536870912000),
        ("9223372036854775807", "9223372036854775807", 2**63 - 1, -1000),
        ("10Ei", "9223372036854775807", 2**63 - 1, -1000),
        ("-10Ei", "-9223372036854775807", -(2**63) + 1, 1000),
    ],
)
def test_readings(text: str, printed: str, value: int, milli: int) -> None:
    """Canonical text, whole units and thousandths; both round away from zero and overflow silently."""
    quantity = Quantity.parse(text)
    assert (str(quantity), quantity.value, quantity.milli) == (printed, value, milli)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, WRONG_SUFFIX) for text in ("1K", "1ki", "1mi", "--1", "1e", "1e+", "1e1000", "1E-1000", "1mm")),
        *((text, WRONG_SHAPE) for text in ("", "1 Gi", "1..5", "0x10", "1e3Mi", "1_000", "1KI", " 1", "1\n", "½")),
        *((text, WRONG_NUMBER) for text in (".Ei", "-Pi", "+.Ei")),
    ],
)
def test_refusals(text: str, message: str) -> None:
    """There are three ways not to be a quantity."""
    with pytest.raises(InputError) as caught:
        Quantity.parse(text)
    assert (caught.value.message, caught.value.path) == (message, "$")


@pytest.mark.parametrize(
    ("text", "family"),
    [("1", DECIMAL_SI), ("1k", DECIMAL_SI), ("1Gi", BINARY_SI), ("0.1Gi", BINARY_SI), ("1e3", DECIMAL_EXPONENT)],
)
def test_families(text: str, family: str) -> None:
    """The suffix decides the family, and the family decides how a result prints."""
    assert Quantity.parse(text).family == family


def test_comparison_ignores_families() -> None:
    """The same amount is equal however it was written, and can be looked up so."""
    gibi, plain, exponent = Quantity.parse("1Gi"), Quantity.parse("1073741824"), Quantity.parse("1073741824e0")
    assert gibi == plain == exponent
    assert len({gibi, plain, exponent}) == 1
    assert Quantity.parse("1") == Quantity.parse("1000m") != Quantity.parse("1001m")
    assert gibi != 1073741824


def test_order() -> None:
    small, large = Quantity.parse("999m"), Quantity.parse("1")
    assert (small < large, small <= large, large > small, large >= small) == (True, True, True, True)
    assert (large < small, large <= small, small > large, small >= large) == (False, False, False, False)
    assert (small <= Quantity.parse("999m"), small >= Quantity.parse("999m")) == (True, True)


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("1Gi", "500M", "1573741824"),
        ("500M", "1Gi", "1573741824"),
        ("512Mi", "512Mi", "1Gi"),
        ("1", "100m", "1100m"),
        ("0", "1Gi", "1Gi"),
        ("1Gi", "0", "1Gi"),
        ("1e3", "1", "1001"),
        ("-1", "1", "0"),
    ],
)
def test_sums(left: str, right: str, total: str) -> None:
    """A sum prints in the family of its left side, unless that is zero."""
    assert str(Quantity.parse(left) + Quantity.parse(right)) == total


@pytest.mark.parametrize(
    ("left", "right", "rest"),
    [
        ("16Gi", "100Mi", "16284Mi"),
        ("8", "500m", "7500m"),
        ("1", "2", "-1"),
        ("0", "1Gi", "-1Gi"),
        ("1k", "1k", "0"),
    ],
)
def test_differences(left: str, right: str, rest: str) -> None:
    assert str(Quantity.parse(left) - Quantity.parse(right)) == rest


def test_negation() -> None:
    assert str(-Quantity.parse("1536Mi")) == "-1536Mi"


@pytest.mark.parametrize(
    ("count", "text"), [(47185920, "45Mi"), (100000000, "100000000"), (1000, "1k"), (1023, "1023"), (0, "0")]
)
def test_bytes_print_in_binary_units(count: int, text: str) -> None:
    """Bytes read from a cgroup print in binary units, below 1024 as plain decimals."""
    assert str(Quantity.of_bytes(count)) == text


@pytest.mark.parametrize(("count", "text"), [(79, "79m"), (2000, "2"), (2500, "2500m"), (0, "0")])
def test_milli_print_in_decimal_units(count: int, text: str) -> None:
    assert str(Quantity.of_milli(count)) == text


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("0.0005", "1m"),
        ("1n", "1m"),
        ("1.0001", "1001m"),
        ("-1.0001", "-1001m"),
        ("0.1Gi", "107374182400m"),
        ("93.379", "93.379"),
        ("1.5Gi", "1536Mi"),
        ("0.0001Ki", "103m"),
    ],
)
def test_rounding_up_to_milli(text: str, stored: str) -> None:
    """The API server stores no amount finer than a thousandth, and leaves others as they were written."""
    assert str(Quantity.parse(text).rounded_up_to_milli()) == stored


def test_only_zero_is_false() -> None:
    assert (bool(ZERO), bool(Quantity.parse("0Gi")), bool(Quantity.parse("1n")), bool(Quantity.parse("-1"))) == (
        False,
        False,
        True,
        True,
    )


def test_canonical_text() -> None:
    assert (canonical("1024Mi"), repr(Quantity.parse("1024Mi"))) == ("1Gi", "Quantity('1Gi')")


def test_equal_texts_are_read_once() -> None:
    """Parsing is the costly part of decoding; results are immutable and shared."""
    assert Quantity.parse("12345Mi") is Quantity.parse("12345Mi")


def test_negative_fractions_of_long_texts() -> None:
    """Beyond eighteen digits upstream rounds negative fractions towards zero."""
    quantity = Quantity.parse("-1.0000000000000000005")
    assert (quantity.value, quantity.milli, str(quantity)) == (0, -999, "-1000000001n")


def test_amounts_beyond_64_bits() -> None:
    """Printed in full, also those whose suffix upstream drops."""
    quantity = Quantity.parse("100E")
    assert (str(quantity), quantity.value, str(quantity + quantity)) == ("100E", 0, "200E")
    assert str(Quantity.parse("4000000E")) == "4000000E"


def test_a_text_too_long_to_mean_anything_is_refused() -> None:
    """Digits by the thousand would be read at great cost, and kept in the cache."""
    assert Quantity.parse("1" + "0" * 2047).value == 0
    with pytest.raises(InputError, match="unable to parse numeric part"):
        Quantity.parse("1" * 2049)
