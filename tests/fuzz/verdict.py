"""What an answer must be, whatever was asked: no fault of the server's own, and every refusal a Status."""

import re
from typing import Any

import msgspec
from tests.fuzz.corpus import Request
from tests.fuzz.wire import Answer

EXPECTED_FAULTS = (
    (500, r"etcdserver: request is too large"),
    (500, r"resourceVersion should not be set on objects to be created"),
    (500, r"resourceVersion: Invalid value: .*"),
    (500, r"map: map\[.*\] does not contain declared merge key: \w+"),
    (500, r"\[?target\.(kind|name): .*"),
    (500, r"unknown patch type: .* in map: map\[.*\]"),
    (500, r"expected a \S+ \{\}, but received a .*"),
    (500, r"unable to find api field in struct \w+ for the json field .*"),
    (500, r"list element types are not identical: .*"),
    (500, r"no preferred addresses found; known addresses: \[.*\]"),
    (500, r"Internal error occurred: error dialing node .*"),
    (504, r"Timeout: Too large resource version: \d+, current: \d+"),
)
"""Recorded: these are 5xx of the real server too."""


NO_STATUS = (400, 404)
"""Answers in plain text: to what is not HTTP, and for paths outside the API."""


def complaint(request: Request, answer: Answer | str) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if isinstance(answer, str):
        return f"the connection broke: {answer}"
    if answer.status < 400 or request.method == "HEAD":
        return "" if answer.status < 500 else f"{answer.status} without a word"
    if answer.media.startswith("text/plain") and answer.status in NO_STATUS:
        return ""
    if answer.media.startswith("application/yaml"):
        return "" if answer.status < 500 else f"{answer.status}: {answer.body[:500]!r}"
    try:
        status: Any = msgspec.json.decode(answer.body)
    except msgspec.DecodeError as error:
        return f"{answer.status} {answer.media} is no Status ({error}): {answer.body[:200]!r}"
    if not isinstance(status, dict) or (status.get("kind"), status.get("code")) != ("Status", answer.status):
        return f"{answer.status} is no Status of that code: {answer.body[:300]!r}"
    if answer.status >= 500 and not _expected(answer.status, str(status.get("message"))):
        return f"{answer.status}: {status.get('message')}"
    return ""


def _expected(code: int, message: str) -> bool:
    return any(code == known and re.fullmatch(text, message, re.DOTALL) for known, text in EXPECTED_FAULTS)
