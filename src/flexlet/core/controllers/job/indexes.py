"""Sets of completion indexes as text: ``0-2,5,7,8``."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet


def parse(text: str, completions: int) -> set[int]:
    """The indexes below `completions`; parts that cannot be read are skipped."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            found.update(range(int(first), min(int(last or first) + 1, completions)))
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    """The shortest text; two neighbours are listed, three or more are a range."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def first_missing(taken: AbstractSet[int], count: int, completions: int) -> list[int]:
    """The lowest indexes that nobody has."""
    found: list[int] = []
    for index in range(completions):
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found
