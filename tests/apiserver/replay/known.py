"""The known differences from the recordings: where, and why."""

import re
from pathlib import Path
from typing import Final

import msgspec
import yaml
from tests.apiserver.replay.comparison import Difference

LIST: Final = Path(__file__).with_name("known_differences.yaml")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines that differ for one reason: by file, numbers and ranges (``3, 7-9``).

    With `at`, a pattern of paths, only these places of the answer may differ.
    """

    reason: str
    where: dict[str, str | int]
    at: str = ""

    def lines(self, file: str) -> list[int]:
        """All lines of a transcript that the entry names."""
        found: list[int] = []
        for part in str(self.where[file]).split(",") if file in self.where else ():
            first, _, last = part.strip().partition("-")
            found += range(int(first), int(last or first) + 1)
        return found

    def excuses(self, difference: Difference) -> bool:
        """Whether a difference on one of these lines is a known one."""
        return re.search(self.at, difference.path) is not None


def entries() -> list[Entry]:
    """The whole list."""
    return msgspec.convert(yaml.safe_load(LIST.read_text()), list[Entry])


def settle(file: str, found: dict[int, list[Difference]]) -> tuple[dict[int, list[Difference]], list[str]]:
    """What differs without being known, and what is known without differing any more."""
    idle: list[str] = []
    left = {seq: list(problems) for seq, problems in found.items()}
    for entry in entries():
        for seq in entry.lines(file):
            if not any(entry.excuses(problem) for problem in found.get(seq, ())):
                idle.append(f"line {seq}: {entry.reason}")
            left[seq] = [problem for problem in left.get(seq, ()) if not entry.excuses(problem)]
    return {seq: problems for seq, problems in left.items() if problems}, idle
