"""Placeholders of the recordings: what each may stand for, and what it was seen to stand for.

An unbound placeholder takes the actual value, a bound one must be equal to it. Resource versions also keep their
order: for a < b, the value of ``<rv:a>`` is smaller than that of ``<rv:b>``.
"""

import base64
import re
import time
from datetime import UTC, datetime
from typing import Final

from tests.apiserver.replay.certificates import certificate_request

TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"
JWT: Final = r"[\w-]+\.[\w-]+\.[\w-]+"
BASE64: Final = r"[A-Za-z0-9+/=]+"
PEM: Final = r"-----BEGIN [A-Z ]+-----[\s\S]+-----END [A-Z ]+-----\s*"
SHAPES: Final = {
    "uid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "rv": r"\d+",
    "continue": r"[\w=-]+",
    "time": TIME,
    "time+1y": TIME,
    "microtime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
    "age": r"(?:\d+[smhdy])+",
    "jwt": JWT,
    "base64 jwt": BASE64,
    "rand": r"[a-z0-9]+",
    "evt": r"[0-9a-z]+",
    "server": r"[\w.\[\]-]+(?::\d+)?",
    "hash": r"[0-9A-Fa-f]+",
    "pem certificate": PEM,
    "base64 pem certificate": BASE64,
    "base64 pem csr": BASE64,
}
TOKEN: Final = re.compile(
    r"<(" + "|".join(map(re.escape, sorted(SHAPES, key=len, reverse=True))) + r")(?::(\d+))?>"
)


class Bindings:
    """What the placeholders of one transcript stand for."""

    def __init__(self, unordered: frozenset[int] = frozenset(), loose: frozenset[int] = frozenset()) -> None:
        self.values: dict[str, str] = {}
        self._began = datetime.fromtimestamp(time.time(), UTC)
        self.scope = ""
        """The object that texts belong to: generated names are bound for each."""
        self._free = unordered
        self._loose = {f"rv:{number}" for number in loose}

    def match(self, expected: str, actual: str) -> str:
        """What keeps the actual text from being the expected one; empty if nothing does."""
        tokens = list(TOKEN.finditer(expected))
        if not tokens:
            return "" if expected == actual else "differs"
        found = _pattern(expected, tokens).fullmatch(actual)
        if found is None:
            return "differs"
        for token, value in zip(tokens, found.groups(), strict=True):
            if token[1] == "rand":
                self.values[f"{_name(token, expected)}@{self.scope}"] = value
            problem = self._bind(_name(token, expected), value)
            if problem:
                return problem
        return ""

    def advance(self, expected: str, actual: str) -> None:
        """Let a bound version move on: a list read again may be newer, never older."""
        name = expected.strip("<>")
        if name in self.values and actual.isdigit() and int(actual) > int(self.values[name]):
            self.values[name] = actual

    def fill(self, text: str) -> str:
        """A recorded text with values in place of its placeholders, to be sent."""
        return TOKEN.sub(lambda token: self._value(token, text), text)

    def _bind(self, name: str, value: str) -> str:
        kind, _, number = name.partition(":")
        if name in self._loose:
            return ""
        if not number or kind == "rand":
            self.values[name] = value
            return ""
        bound = self.values.setdefault(name, value)
        if bound != value:
            return f"<{name}> is {bound}"
        return self._unordered(int(number), int(value)) if kind == "rv" else ""

    def _unordered(self, number: int, version: int) -> str:
        for name, value in self.values.items():
            if not name.startswith("rv:"):
                continue
            other = int(name[3:])
            if {other, number} & self._free:
                continue
            if (other < number) != (int(value) < version) and other != number:
                return f"<rv:{number}> is {version}, but <{name}> is {value}"
        return ""

    def _value(self, token: re.Match[str], text: str) -> str:
        match token[1]:
            case "time" | "time+1y":
                # The same each time: to write it again changes nothing.
                stamp = self._began.strftime("%Y-%m-%dT%H:%M:%S")
                return stamp if text[token.end() :].startswith("+00:00") else f"{stamp}Z"
            case "microtime":
                return datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            case "base64 pem csr":
                return base64.b64encode(certificate_request("rec-node-1")).decode()
        name = _name(token, text)
        return self.values.get(f"{name}@{self.scope}") or self.values.get(name, token[0])


def _name(token: re.Match[str], text: str) -> str:
    """A generated suffix is known by the text before it, everything else by its number."""
    if token[1] == "rand":
        before = re.search(r"[\w-]*$", text[: token.start()])
        return f"rand:{before[0] if before else ''}"
    return token[0].strip("<>")


def _pattern(expected: str, tokens: list[re.Match[str]]) -> re.Pattern[str]:
    parts, at = [], 0
    for token in tokens:
        parts.append(re.escape(expected[at : token.start()]))
        parts.append(f"({SHAPES[token[1]]})")
        at = token.end()
    return re.compile("".join(parts) + re.escape(expected[at:]))
