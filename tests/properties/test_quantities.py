import math
from fractions import Fraction

from hypothesis import given
from tests.properties.strategies import cpu_sets, quantities, quantity_texts

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import BINARY_SI, DECIMAL_EXPONENT, MILLI, NANO, Quantity

UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}


def exact(text: str) -> Fraction:
    """The amount a text stands for, by arithmetic that shares nothing with the parser."""
    if text.endswith("i"):
        return Fraction(text[:-2]) * Fraction(1024) ** ("KMGTP".index(text[-2]) + 1)
    if "e" in text.lower():
        return Fraction(text)
    number = text.rstrip("numkMGTP")
    unit: Fraction = Fraction(10) ** UNITS[text[len(number) :]]
    return Fraction(number) * unit


@given(quantity_texts)
def test_texts_mean_what_they_say(text: str) -> None:
    """The amount is exact, or rounded away from zero to the nearest nano."""
    amount = abs(exact(text)) * NANO
    if text[-1] == "i":
        amount = min(amount, Fraction((2**63 - 1) * NANO))
    assert abs(Quantity.parse(text).nano) == math.ceil(amount)


@given(quantities())
def test_printing_loses_nothing(quantity: Quantity) -> None:
    """Whatever is printed reads back as the same amount, and prints the same again.

    Only a binary amount that needs no suffix (``3125000``) reads back as a decimal one, and prints as such.
    """
    text = str(quantity)
    again = Quantity.parse(text)
    assert again == quantity
    assert str(again) == text or (quantity.family == BINARY_SI and text[-1].isdigit())


@given(quantities())
def test_canonical_text_is_shortest(quantity: Quantity) -> None:
    """The mantissa is whole and cannot be shortened by a larger suffix of its family."""
    text = str(quantity)
    if quantity.family == BINARY_SI and (text.endswith("i") or text[-1].isdigit()):
        assert int(text.rstrip("KMGTPEi")) % 1024 != 0 or text in {"0", "1"}
    elif quantity.family == DECIMAL_EXPONENT:
        assert not text.partition("e")[0].endswith("000")
    else:
        assert not text.rstrip("numkMGTPE").endswith("000")


@given(quantities(), quantities())
def test_order_is_that_of_amounts(left: Quantity, right: Quantity) -> None:
    assert (left < right, left == right, left > right) == (
        left.nano < right.nano,
        left.nano == right.nano,
        left.nano > right.nano,
    )
    assert (left <= right, left >= right) == (not left > right, not left < right)


@given(quantities(), quantities())
def test_sums_and_differences(left: Quantity, right: Quantity) -> None:
    """Addition commutes in amount, subtraction undoes it, negation is subtraction from nothing."""
    assert left + right == right + left
    assert (left + right) - right == left
    assert -left + left == Quantity(0)


@given(quantities())
def test_integers_round_away_from_zero(quantity: Quantity) -> None:
    """The integer is the least one that covers the amount, and thousandths agree with it."""
    for unit, whole in ((NANO, quantity.value), (MILLI, quantity.milli)):
        if abs(quantity.nano) < 2**62 * unit:
            assert abs(whole) == -(-abs(quantity.nano) // unit)


@given(quantities())
def test_rounding_up_is_idempotent(quantity: Quantity) -> None:
    rounded = quantity.rounded_up_to_milli()
    assert rounded.rounded_up_to_milli() is rounded
    assert 0 <= abs(rounded.nano) - abs(quantity.nano) < MILLI


@given(cpu_sets)
def test_cpu_lists_read_back(cpus: CpuSet) -> None:
    assert CpuSet.parse(str(cpus)) == cpus


@given(cpu_sets, cpu_sets)
def test_cpu_set_algebra(left: CpuSet, right: CpuSet) -> None:
    """The same laws as for any sets."""
    assert left | right == right | left
    assert left & right == right & left
    assert (left - right) | (left & right) == left
    assert (left & right).issubset(left)
    assert left.issubset(left | right)
    assert len(left | right) == len(left) + len(right) - len(left & right)
