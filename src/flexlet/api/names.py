"""What names, keys and labels may look like, in upstream's words.

Every validator takes the text and returns the list of complaints, empty if there are none; the caller adds the
field. Follows ``apimachinery/pkg/util/validation`` and ``pkg/api/validate/content``, whose texts differ in one
word: labels are limited in bytes, DNS names in characters (both count bytes). IP addresses are in `addresses`.
"""

import re
from collections.abc import Callable
from typing import Final

Complaints = list[str]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_UNDERSCORE: Final = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_ENV_NAME: Final = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_is_label: Final = re.compile(_LABEL).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_qualified: Final = re.compile(_QUALIFIED).fullmatch
_is_label_value: Final = re.compile(_LABEL_VALUE).fullmatch

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253

_QUALIFIED_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character"
)


def regex_complaint(text: str, pattern: str, *examples: str) -> str:
    """The text, examples of what would do, and the pattern."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} ({f'e.g. {shown}' if shown else ''}regex used for validation is '{pattern}')"


def too_long(limit: int) -> str:
    """The complaint about length that DNS names use."""
    return f"must be no more than {limit} characters"


def out_of_range(low: int, high: int) -> str:
    """The complaint about a number outside an inclusive range."""
    return f"must be between {low} and {high}, inclusive"


_LABEL_COMPLAINT: Final = regex_complaint(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_COMPLAINT: Final = regex_complaint(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_QUALIFIED_COMPLAINT: Final = regex_complaint(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
_LABEL_VALUE_COMPLAINT: Final = regex_complaint(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)


def dns1123_label(value: str) -> Complaints:
    """A DNS label: namespaces, containers, volumes."""
    complaints = [too_long(MAX_LABEL)] if _size(value) > MAX_LABEL else []
    if not _is_label(value):
        complaints.append("must not contain dots" if _is_subdomain(value) else _LABEL_COMPLAINT)
    return complaints


def dns1123_subdomain(value: str) -> Complaints:
    """A DNS subdomain: the names of most objects."""
    complaints = [too_long(MAX_SUBDOMAIN)] if _size(value) > MAX_SUBDOMAIN else []
    if not _is_subdomain(value):
        complaints.append(_SUBDOMAIN_COMPLAINT)
    return complaints


def label_key(value: str) -> Complaints:
    """A qualified name: a name part after an optional DNS subdomain and a slash."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_QUALIFIED_COMPLAINT} {example}"]
    complaints = [f"prefix part {complaint}" for complaint in _prefix(prefix)] if slash else []
    if not name:
        complaints.append("name part must be non-empty")
    elif _size(name) > MAX_LABEL:
        complaints.append(f"name part must be no more than {MAX_LABEL} bytes")
    if not _is_qualified(name):
        complaints.append(f"name part {_QUALIFIED_COMPLAINT}")
    return complaints


def _prefix(prefix: str) -> Complaints:
    if not prefix:
        return ["must be non-empty"]
    complaints = [f"must be no more than {MAX_SUBDOMAIN} bytes"] if _size(prefix) > MAX_SUBDOMAIN else []
    return complaints if _is_subdomain(prefix) else [*complaints, _SUBDOMAIN_COMPLAINT]


qualified_name: Final = label_key


def annotation_key(value: str) -> Complaints:
    """A qualified name whose case does not matter."""
    return label_key(value.lower())


def label_value(value: str) -> Complaints:
    """The value of a label; empty is fine."""
    complaints = [f"must be no more than {MAX_LABEL} bytes"] if _size(value) > MAX_LABEL else []
    if not _is_label_value(value):
        complaints.append(_LABEL_VALUE_COMPLAINT)
    return complaints


def path_segment(value: str) -> Complaints:
    """A name that can be a step of a URL path: RBAC objects, certificate requests."""
    if value in {".", ".."}:
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> Complaints:
    """The start of such a name (a generateName)."""
    return [f"may not contain '{illegal}'" for illegal in "/%" if illegal in value]


def config_map_key(value: str) -> Complaints:
    """A key of a ConfigMap or Secret."""
    complaints = [too_long(MAX_SUBDOMAIN)] if _size(value) > MAX_SUBDOMAIN else []
    return [*complaints, *_config_characters(value), *_parent_folder(value)]


def env_var_name(value: str) -> Complaints:
    """The name of an environment variable: any printable ASCII but ``=`` (the relaxed rule, since 1.34)."""
    if not value:
        return ["environment variable name must be non-empty"]
    if all(" " <= character <= "~" and character != "=" for character in value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def strict_env_var_name(value: str) -> Complaints:
    """The older rule, still used where names become variables (envFrom)."""
    return [*_env_characters(value), *_parent_folder(value)]


def port_name(value: str) -> Complaints:
    """The name of a port (IANA service name)."""
    complaints = ["must be no more than 15 characters"] if _size(value) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", value):
        complaints.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        complaints.append("must contain at least one letter (a-z)")
    if "--" in value:
        complaints.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        complaints.append("must not begin or end with a hyphen")
    return complaints


def port_number(value: int) -> Complaints:
    """A port that can be listened on."""
    return in_range(value, 1, 65535)


def user_id(value: int) -> Complaints:
    """A Unix user or group id."""
    return in_range(value, 0, 2**31 - 1)


group_id: Final = user_id


def in_range(value: int, low: int, high: int) -> Complaints:
    """A number within an inclusive range."""
    return [] if low <= value <= high else [out_of_range(low, high)]


def domain_prefixed_path(value: str) -> Complaints:
    """A domain, a slash and a path (``acme.io/foo``)."""
    host, slash, path = value.partition("/")
    if not (host and slash and path):
        return ['must be a domain-prefixed path (such as "acme.io/foo")']
    complaints = dns1123_subdomain(host)
    if not re.fullmatch(_HTTP_PATH, path):
        complaints.append(regex_complaint("Invalid path", _HTTP_PATH))
    return complaints


def fully_qualified_name(value: str) -> Complaints:
    """A DNS subdomain of at least three segments."""
    if complaints := dns1123_subdomain(value):
        return [",".join(complaints)]
    return [] if value.count(".") >= 2 else ["should be a domain with at least three segments separated by dots"]


def as_prefix(name: str) -> str:
    """What to validate of a generateName: a dash at its end is fine, since more follows."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def _matching(pattern: str, text: str, *examples: str, limit: int | None = None) -> Callable[[str], Complaints]:
    """A validator for one pattern, with a limit of characters if it has one."""
    matches = re.compile(pattern).fullmatch
    complaint = regex_complaint(text, pattern, *examples)

    def validate(value: str) -> Complaints:
        complaints = [too_long(limit)] if limit is not None and _size(value) > limit else []
        return complaints if matches(value) else [*complaints, complaint]

    return validate


dns1035_label: Final = _matching(
    _LABEL_1035,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character",
    "my-name",
    "abc-123",
    limit=MAX_LABEL,
)
dns1123_subdomain_with_underscore: Final = _matching(
    _SUBDOMAIN_UNDERSCORE,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character",
    "example.com",
    limit=MAX_SUBDOMAIN,
)
wildcard_dns1123_subdomain: Final = _matching(
    _WILDCARD,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
    limit=MAX_SUBDOMAIN,
)
c_identifier: Final = _matching(
    _C_IDENTIFIER,
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)
percent: Final = _matching(
    _PERCENT, "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
http_header_name: Final = _matching(
    _HEADER, "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
_config_characters: Final = _matching(
    _CONFIG_KEY,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_env_characters: Final = _matching(
    _ENV_NAME,
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must "
    "not start with a digit",
    "my.env-name",
    "MY_ENV.NAME",
    "MyEnvName1",
)


def _parent_folder(value: str) -> Complaints:
    if value in {".", ".."}:
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def _size(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))
