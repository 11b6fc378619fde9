import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import gojson
from flexlet.api.goscanner import Scanner

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "unexpected end of JSON input"),
        (b"  ", "unexpected end of JSON input"),
        (b"{nope", "invalid character 'n' looking for beginning of object key string"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a"}', "invalid character '}' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[[],{}", "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"01", "invalid character '1' after top-level value"),
        (b"nul", "unexpected end of JSON input"),
        (b"nulx", "invalid character 'x' in literal null (expecting 'l')"),
        (b"tru e", "invalid character ' ' in literal true (expecting 'e')"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"-", "unexpected end of JSON input"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"-12.5e+x", "invalid character 'x' in exponent of numeric literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b"'a'", "invalid character '\\'' looking for beginning of value"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"[" * 100_000, "invalid character '[' exceeded max depth"),
        (b"[" * 100_000 + b"]" * 100_000, "invalid character '[' exceeded max depth"),
        (b"[1e400]", "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ],
)
def test_syntax_faults_have_gos_words(body: bytes, fault: str) -> None:
    """A document that is no JSON is refused with the words of encoding/json."""
    with pytest.raises(gojson.SyntaxFault) as caught:
        gojson.decode(body)
    assert caught.value.message == fault


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'["\xff"]', ["\ufffd"]),
        (b'["\\ud800", "\\ud83d\\ude00", "\\\\ud800"]', ["\ufffd", "\U0001f600", "\\ud800"]),
        (b'{"a": ["\xff", 1.5, {"b": [], "c": {}}, -0.5e-3, true, false, null]}', None),
    ],
)
def test_text_beyond_unicode_is_replaced(body: bytes, value: Any) -> None:
    """Bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD, as in Go."""
    expected = {"a": ["\ufffd", 1.5, {"b": [], "c": {}}, -0.0005, True, False, None]} if value is None else value
    assert gojson.decode(body) == expected


@given(JSON)
def test_every_json_document_is_read(value: Any) -> None:
    """What one encoder writes, compact or spaced, is read back; the scanner finds no fault in it either."""
    for body in (json.dumps(value).encode(), json.dumps(value, indent=1, ensure_ascii=False).encode()):
        assert gojson.decode(body) == value
        assert Scanner(body).fault() is None


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """No bytes make the reader fail in another way than with a SyntaxFault, and it agrees with the scanner."""
    with contextlib.suppress(gojson.SyntaxFault):
        gojson.decode(body)
        assert Scanner(body).fault() is None


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"[%s x]", "invalid character 'x' looking for beginning of value"),
        (b"[%s NaN]", "invalid character 'N' looking for beginning of value"),
        (b"[%s", "unexpected end of JSON input"),
    ],
)
def test_long_documents_are_only_looked_at_roughly(body: bytes, fault: str) -> None:
    """What is wrong with a long document is found at the speed of C, in fewer words."""
    with pytest.raises(gojson.SyntaxFault) as caught:
        gojson.decode(body % (b"1000," * (gojson.MAX_SCANNED // 4)))
    assert caught.value.message == fault
    assert gojson.decode(b'["\xff"%s]' % (b",1000" * (gojson.MAX_SCANNED // 4)))[0] == "\ufffd"


def test_depth_is_limited() -> None:
    """Two hundred levels are read, one more is refused; width is free."""
    body = b'[{"a":' * 100 + b"1" + b"}]" * 100
    assert json.dumps(gojson.decode(body)).count("[") == 100
    assert len(gojson.decode(b"[" + b",".join([b"[]"] * 500) + b"]")) == 500
    with pytest.raises(gojson.SyntaxFault) as caught:
        gojson.decode(b"[" + body + b"]")
    assert caught.value.message == "invalid character '[' exceeded max depth"


def test_pairs_keep_what_dicts_lose() -> None:
    """Repeated keys and the digits of numbers survive in the tree of pairs."""
    tree = gojson.parse_pairs(b'{"a": 1, "a": 1.50, "b": {"c": "x"}}')
    assert tree == [("a", "1"), ("a", "1.50"), ("b", [("c", "x")])]
    assert [type(tree), type(tree[1][1]), type(tree[2][1])] == [gojson.Pairs, gojson.Number, gojson.Pairs]


@pytest.mark.parametrize(
    ("body", "repeated"),
    [
        (b'{"a":1,"b":{"a":1}}', False),
        (b'{"a": 1, "b": {"a": 1}}\n', False),
        (b'{"a":1,"a":2}', True),
        (b'[{"b": {"a" : 1, "\\u0061": 1}}]', True),
    ],
)
def test_repeated_keys_are_found(body: bytes, repeated: bool) -> None:
    """A key written twice in one object is found however it is spelled."""
    assert gojson.has_repeated_keys(body, gojson.decode(body)) is repeated


def test_integers_of_thousands_of_digits_are_refused() -> None:
    """Python reads none either, and would say so in its own way."""
    text = "9" * 5000
    with pytest.raises(gojson.SyntaxFault) as caught:
        gojson.decode(f'{{"a":{text}}}'.encode())
    assert caught.value.message == f"json: cannot unmarshal number {text} into Go value of type float64"


@pytest.mark.parametrize("body", [b"[%s1]" % (b"1," * 50_000), b'{"a":[%s{}]}' % (b"{}," * 50_000)])
def test_the_number_of_values_is_limited(body: bytes) -> None:
    with pytest.raises(gojson.SyntaxFault) as caught:
        gojson.decode(body)
    assert caught.value.message == "document contains more than 50000 values"


def test_commas_in_texts_are_no_values() -> None:
    assert gojson.decode(b'{"a":"%s"}' % (b"," * 60_000)) == {"a": "," * 60_000}
