"""Console sessions inside pages: commands to run, and what the page says they print.

In a ```console block a line that starts with ``$ `` is a command, ``> `` goes on with it, everything else is its output.
In the output ``…`` stands for anything, and alone on a line for any lines; how long ago something was (``12s``) and
how wide columns are does not matter.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_AGE = re.compile(r"\b\d+(?:m\d+)?s\b")
_MARK = "@@@ next command @@@"


class Step(msgspec.Struct, frozen=True):
    """One command of a page and what it should print."""

    command: str
    output: tuple[str, ...]

    def agrees(self, printed: str) -> bool:
        """Whether what was printed is what the page shows."""
        return re.fullmatch(_pattern(self.output), "".join(_lines(printed.splitlines()))) is not None


def steps(page: str) -> Iterator[Step]:
    """The commands of a page, in order."""
    for block in _BLOCK.findall(page):
        for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = session.splitlines()
            more = [line for line in rest if line.startswith("> ")]
            command = "\n".join((first, *(line[2:] for line in more)))
            yield Step(command, tuple(line for line in rest if line not in more))


def run(wanted: Iterable[Step], directory: Path, environment: Mapping[str, str]) -> list[tuple[Step, str]]:
    """Run commands one after the other in one shell; each with what it printed on either stream."""
    listed = list(wanted)
    script = "".join(f"{step.command}\nprintf '\\n%s\\n' '{_MARK}'\n" for step in listed)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    printed = done.stdout.split(f"{_MARK}\n")
    return list(zip(listed, printed, strict=False))


def _lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = _AGE.sub("0s", " ".join(line.split()))
        if text:
            yield f"{text}\n"


def _pattern(output: Iterable[str]) -> str:
    """A pattern for the whole output."""
    parts = []
    for line in _lines(output):
        if line == "…\n":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.split("…")))
    return "".join(parts)
