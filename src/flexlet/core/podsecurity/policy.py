"""Which standard a namespace asks for, from its labels.

A wrong level counts as ``restricted`` where it is enforced and as ``privileged`` where it only warns; warning
follows enforcement unless it is set by itself.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError

PREFIX: Final = "pod-security.kubernetes.io/"
PRIVILEGED: Final = "privileged"
BASELINE: Final = "baseline"
RESTRICTED: Final = "restricted"
LEVELS: Final = (PRIVILEGED, BASELINE, RESTRICTED)
"""From free to strict."""

_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]*)", re.ASCII)


class Standard(Struct, frozen=True):
    """A level and the minor version of Kubernetes that defines it; None is the latest."""

    level: str = PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


class Policy(Struct, frozen=True):
    """What a namespace enforces, and what it warns about."""

    enforce: Standard = Standard()
    warn: Standard = Standard()


UNRESTRICTED: Final = Policy()


def is_labelled(labels: Mapping[str, str]) -> bool:
    """Whether any label speaks about pod security."""
    return any(key.startswith(PREFIX) for key in labels)


def policy_of(labels: Mapping[str, str]) -> Policy:
    """The policy in force; labels that cannot be read have their fallback."""
    if not is_labelled(labels):
        return UNRESTRICTED
    level = labels.get(f"{PREFIX}enforce", PRIVILEGED)
    enforce = Standard(level if level in LEVELS else RESTRICTED, _minor(labels, "enforce"))
    return Policy(enforce, _warned(labels, enforce, follows=level in LEVELS))


def label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    """What is wrong with the labels."""
    found = []
    for mode in ("enforce", "audit", "warn"):
        level = labels.get(PREFIX + mode, PRIVILEGED)
        if level not in LEVELS:
            found.append(_wrong(mode, level, f"must be one of {', '.join(LEVELS)}"))
        version = labels.get(f"{PREFIX}{mode}-version", "latest")
        if version != "latest" and not _VERSION.fullmatch(version):
            found.append(_wrong(f"{mode}-version", version, 'must be "latest" or "v1.x"'))
    return found


def is_stricter(standard: Standard, other: Standard) -> bool:
    """Whether `standard` allows less than `other`, going by the level alone."""
    return LEVELS.index(standard.level) > LEVELS.index(other.level)


def _warned(labels: Mapping[str, str], enforce: Standard, *, follows: bool) -> Standard:
    level = labels.get(f"{PREFIX}warn")
    if level is not None:
        return Standard(level if level in LEVELS else PRIVILEGED, _minor(labels, "warn"))
    if not follows or enforce.level == PRIVILEGED:
        return Standard()
    return Standard(enforce.level, _minor(labels, "warn") if f"{PREFIX}warn-version" in labels else enforce.minor)


def _minor(labels: Mapping[str, str], mode: str) -> int | None:
    match = _VERSION.fullmatch(labels.get(f"{PREFIX}{mode}-version", ""))
    return int(match[1]) if match else None


def _wrong(label: str, value: str, detail: str) -> FieldError:
    return fielderrors.invalid(f"metadata.labels[{PREFIX}{label}]", value, detail)
