"""How checks walk a pod and say what they found."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

Object = Mapping[str, Any]


class Violation(Struct, frozen=True):
    """What a pod does that its level forbids."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def containers(spec: Object) -> Iterator[Object]:
    """Every container; ephemeral ones are held to the same rules."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def security_context(part: Object) -> Object:
    """The security context of a pod spec or of a container."""
    context: Object = part.get("securityContext") or {}
    return context


def named(bad: Sequence[str]) -> str:
    """``container "a"``, ``containers "a", "b"``."""
    return f"{plural('container', bad)} {quoted(bad)}"


def setters(pod_is_bad: bool, bad: Sequence[str]) -> str:
    """Who set a forbidden value: the pod, containers, or both; empty if nobody did."""
    return " and ".join([*(["pod"] if pod_is_bad else []), *([named(bad)] if bad else [])])


def plural(word: str, items: Collection[Any]) -> str:
    """The word, with an s unless there is exactly one."""
    return word if len(items) == 1 else f"{word}s"


def uses(items: Collection[Any]) -> str:
    """The verb for so many subjects."""
    return "uses" if len(items) == 1 else "use"


def quoted(items: Sequence[str]) -> str:
    """``"a", "b"``."""
    return ", ".join(f'"{item}"' for item in items)


def names_of(parts: Sequence[Object]) -> list[str]:
    """The names of containers or volumes."""
    return [part.get("name", "") for part in parts]


def is_windows(spec: Object) -> bool:
    """Whether the pod says that it runs on Windows."""
    return (spec.get("os") or {}).get("name") == "windows"


def has_user_namespace(spec: Object) -> bool:
    """Whether root inside the pod is nobody outside."""
    return spec.get("hostUsers") is False
