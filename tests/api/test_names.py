"""Names, keys and labels: every validator's complaints, whole."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation "
    "is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used "
    "for validation is '[0-9]+%')"
)
ENV = "a valid environment variable name must consist only of printable ASCII characters other than '='"
STRICT_ENV = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must "
    "not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation "
    "is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
)

WITH_PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"


@pytest.mark.parametrize(
    ("validate", "value", "complaints"),
    [
        (names.dns1123_label, "web-0", []),
        (names.dns1123_label, "a.b", ["must not contain dots"]),
        (names.dns1123_label, "Web", [LABEL]),
        (names.dns1123_label, "", [LABEL]),
        (names.dns1123_label, "a\n", [LABEL]),
        (names.dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns1123_label, "é" * 32, ["must be no more than 63 characters", LABEL]),
        (names.dns1123_subdomain, "a.b-c.d", []),
        (names.dns1123_subdomain, "A_b", [SUBDOMAIN]),
        (names.dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.label_key, "app", []),
        (names.label_key, "example.com/My_app.1", []),
        (names.label_key, "", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        (names.label_key, "/x", ["prefix part must be non-empty"]),
        (names.label_key, "X/y", [f"prefix part {SUBDOMAIN}"]),
        (names.label_key, f"{'a' * 254}/y", ["prefix part must be no more than 253 bytes"]),
        (names.label_key, "a" * 64, ["name part must be no more than 63 bytes"]),
        (names.label_key, "-x", [f"name part {QUALIFIED}"]),
        (
            names.label_key,
            "a/b/c",
            [f"a valid label key {QUALIFIED} {WITH_PREFIX}"],
        ),
        (names.annotation_key, "EXAMPLE.com/x", []),
        (names.label_value, "", []),
        (names.label_value, "a b", [VALUE]),
        (names.label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (names.path_segment, "system:node", []),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"]),
        (names.config_map_key, "a.b_C-1", []),
        (names.config_map_key, "..a", ["must not start with '..'"]),
        (names.config_map_key, ".", ["must not be '.'"]),
        (names.config_map_key, "a/" + "b" * 260, ["must be no more than 253 characters", CONFIG_KEY]),
        (names.env_var_name, "my var!", []),
        (names.env_var_name, "", ["environment variable name must be non-empty"]),
        (names.env_var_name, "a=b", [ENV]),
        (names.env_var_name, "é", [ENV]),
        (names.strict_env_var_name, "A.b", []),
        (names.strict_env_var_name, "1a", [STRICT_ENV]),
        (names.strict_env_var_name, "..", ["must not be '..'"]),
        (names.port_name, "http-2", []),
        (
            names.port_name,
            "-1--_" + "1" * 11 + "-",
            [
                "must be no more than 15 characters",
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
        ),
        (names.port_number, 65535, []),
        (names.port_number, 0, ["must be between 1 and 65535, inclusive"]),
        (names.user_id, -1, ["must be between 0 and 2147483647, inclusive"]),
        (
            names.dns1035_label,
            "1a",
            [LABEL_1035],
        ),
        (names.dns1035_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns1123_subdomain_with_underscore, "_a.b_c", []),
        (names.wildcard_dns1123_subdomain, "*.example.com", []),
        (names.c_identifier, "my_name", []),
        (names.http_header_name, "X-Header", []),
        (
            names.percent,
            "5",
            [PERCENT],
        ),
        (names.domain_prefixed_path, "acme.io/foo", []),
        (names.domain_prefixed_path, "acme.io/", ['must be a domain-prefixed path (such as "acme.io/foo")']),
        (
            names.domain_prefixed_path,
            "Acme/f o",
            [
                SUBDOMAIN,
                r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')",
            ],
        ),
        (names.fully_qualified_name, "a.b.c", []),
        (names.fully_qualified_name, "a.b", ["should be a domain with at least three segments separated by dots"]),
        (names.fully_qualified_name, "A", [SUBDOMAIN]),
    ],
)
def test_validators(validate: Callable[[object], list[str]], value: object, complaints: list[str]) -> None:
    """Every validator answers with upstream's texts, and with none for a good value."""
    assert validate(value) == complaints


@pytest.mark.parametrize(
    ("name", "checked"), [("web-", "wea"), ("-", "-"), ("", ""), ("a--", "aa"), ("web", "web")]
)
def test_a_generated_name_may_end_with_a_dash(name: str, checked: str) -> None:
    """A generateName is validated as if something followed its last dash."""
    assert names.as_prefix(name) == checked


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True))
def test_a_label_is_every_other_kind_of_name(name: str) -> None:
    """What is a DNS label is also a subdomain, a label key and value, a path segment and a config key."""
    validators = [names.dns1123_label, names.dns1123_subdomain, names.label_key, names.label_value]
    assert [validate(name) for validate in [*validators, names.path_segment, names.config_map_key]] == [[]] * 6
