"""What the recordings write instead of values that differ from run to run.

``<uid>``, ``<podIP>``, ``<hostIP>``, ``<id:NAME#n>`` (the n-th run of NAME), ``<t+12s>`` (after the pod's
creation), ``<rv>``, ``<hex64>``, ``<ip>``; where several pods live together, those of the others end in
``:podname``.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from flexlet.api import age

PLACEHOLDER: Final = re.compile(
    r"<(?:t[+-]\d+s|(?:uid|podIP|id:[^<>#\s]+#\d+|hostIP)(?::[^<>\s]+)?|rv|uuid|hex64|ip|config-hash(?:-\d+)?)>"
)
_TIME: Final = re.compile(r"<t([+-]\d+)s>")


def is_time(placeholder: str) -> bool:
    """Whether it stands for a moment."""
    return _TIME.fullmatch(placeholder) is not None


def offset(placeholder: str) -> int:
    """Seconds after the pod's creation."""
    found = _TIME.fullmatch(placeholder)
    assert found is not None, placeholder
    return int(found[1])


def filled(value: Any, fill: Callable[[str], str]) -> Any:
    """The value with every placeholder in its texts replaced."""
    if isinstance(value, dict):
        return {key: filled(item, fill) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, fill) for item in value]
    return PLACEHOLDER.sub(lambda found: fill(found[0]), value) if isinstance(value, str) else value


def concrete(created: float) -> Callable[[str], str]:
    """Values for placeholders: times counted from `created`, everything else by its own name."""

    def fill(placeholder: str) -> str:
        if is_time(placeholder):
            return age.format_seconds(created + offset(placeholder))
        return _address(placeholder) or re.sub(r"[^A-Za-z0-9]+", "-", placeholder).strip("-")

    return fill


def _address(placeholder: str) -> str:
    if placeholder == "<hostIP>":
        return "192.0.2.1"
    if placeholder.startswith("<podIP") or placeholder == "<ip>":
        return f"10.0.0.{sum(placeholder.encode()) % 250 + 2}"
    return ""
