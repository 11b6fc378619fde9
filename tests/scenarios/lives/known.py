"""The differences that are known, each with its reason: ``differences.yaml``."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import yaml

FILE: Final = Path(__file__).parent / "differences.yaml"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A reason, and the lines that differ because of it, by life; ``*`` stands for any text."""

    reason: str
    where: dict[str, list[str]]


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """All of them; `not_lived` are whole lives that a node like ours cannot have."""

    not_lived: dict[str, str]
    known: list[Known]

    def judged(self, life: str, found: list[str]) -> tuple[list[str], list[str]]:
        """Lines that nobody knows a reason for, and reasons that there is no line for."""
        expected = [line for each in self.known for line in each.where.get(life, ())]
        unknown = [line for line in found if not any(_fits(each, line) for each in expected)]
        spent = [each for each in expected if not any(_fits(each, line) for line in found)]
        return unknown, spent


@cache
def load() -> Differences:
    """From the file."""
    return msgspec.convert(yaml.safe_load(FILE.read_text(encoding="utf-8")), Differences)


def _fits(pattern: str, line: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), line, re.DOTALL) is not None
