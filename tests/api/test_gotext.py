import pytest

from flexlet.api import gotext


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('say "hi" \\', r'"say \"hi\" \\"'),
        ("tab\tbell\anul\x00", r'"tab\tbell\anul\x00"'),
        ("é\u200b\U0001f600\U000e0001", '"é\\u200b\U0001f600\\U000e0001"'),
    ],
)
def test_quote(text: str, quoted: str) -> None:
    """Text is quoted as a Go string literal: printable characters stay, others are escaped."""
    assert gotext.quote(text) == quoted


@pytest.mark.parametrize(("byte", "shown"), [(b"n", "'n'"), (b"'", r"'\''"), (b'"', "'\"'"), (b"\n", r"'\n'")])
def test_quote_character(byte: bytes, shown: str) -> None:
    """A byte is quoted as a Go character; only the single quote needs an escape."""
    assert gotext.quote_character(byte[0]) == shown


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"b": [1, "x", None], "a": {"c": True}}, "map[a:map[c:true] b:[1 x <nil>]]"),
        ([], "[]"),
        ({}, "map[]"),
        (False, "false"),
        (1.5, "1.5"),
        (100.0, "100"),
        (1234567.0, "1.234567e+06"),
        (0.00001, "1e-05"),
        (-2.5e30, "-2.5e+30"),
        (0.0, "0"),
    ],
)
def test_sprint(value: object, printed: str) -> None:
    """Values print as Go's %v: sorted maps, bare strings, floats with an exponent from 1e6 on."""
    assert gotext.sprint(value) == printed


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7, "7"),
        (1234567.0, "1234567"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1e20, "1" + "0" * 20),
        (1e21, "1e+21"),
    ],
)
def test_json_number(number: float, text: str) -> None:
    """json.Marshal writes plain digits between 1e-6 and 1e21."""
    assert gotext.json_number(number) == text


def test_json_text_escapes_html() -> None:
    """Go's JSON is safe inside HTML and JavaScript and keeps the order of keys."""
    assert gotext.json_text({"b": "<&>\u2028", "a": None}) == r'{"b":"\u003c\u0026\u003e\u2028","a":null}'


def test_kinds_and_types_have_go_names() -> None:
    """Decoded JSON values have the kinds and types Go's reflection reports."""
    values = [{}, [], "s", True, 1, 1.5, None]
    assert list(map(gotext.kind, values)) == ["map", "slice", "string", "bool", "int64", "float64", "invalid"]
    assert list(map(gotext.type_name, values)) == [
        "map[string]interface {}",
        "[]interface {}",
        "string",
        "bool",
        "int64",
        "float64",
        "<nil>",
    ]


def test_each_character_of_a_long_text_is_quoted() -> None:
    for text in ("a" * 100_000, '"' * 100_000, "é\x00" * 50_000):
        expected = '"' + text.replace('"', r"\"").replace("\x00", r"\x00") + '"'
        assert gotext.quote(text) == expected
