"""Reading what kubectl prints for people."""

import re


class Like:
    """Equals every text its pattern describes; for ages, generated names and addresses in whole lines."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.fullmatch(self._pattern, other) is not None

    def __hash__(self) -> int:
        return hash(self._pattern)

    def __repr__(self) -> str:
        return f"Like({self._pattern!r})"


AGE = Like(r"(\d+[smhd])+")
NODE = Like(r"hollow-[0-2]")
ADDRESS = Like(r"10\.\d+\.\d+\.\d+")


def cells(line: str) -> list[str]:
    """The cells of one line."""
    return re.split(r" {2,}", line.strip())


def rows(lines: list[str]) -> list[list[str]]:
    """The cells of every line; columns are two or more spaces apart."""
    return [cells(line) for line in lines]


def section(lines: list[str], title: str) -> list[str]:
    """The lines below a title of `describe`, up to the next one, without their indentation."""
    start = lines.index(title) + 1
    end = next((at for at in range(start, len(lines)) if not lines[at].startswith(" ")), len(lines))
    return [line.strip() for line in lines[start:end]]
