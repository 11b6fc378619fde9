"""Console sessions inside pages: commands to run, and what the page says they print.

In a ```console block a line that starts with ``$ `` is a command, ``> `` goes on with it, everything else is its
output. In the output ``…`` stands for anything, and alone on a line for any lines; how long ago something was
(``12s``) and how wide columns are does not matter. A command without output in the page may print what it likes,
but must succeed.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_AGE = re.compile(r"\b\d+(?:m\d+)?s\b")
_MARK = "@@@ ended with code"
_END = re.compile(rf"^{_MARK} (\d+)\n", re.MULTILINE)
PATIENCE_S = 100


class Step(msgspec.Struct, frozen=True):
    """One command of a page and what it should print."""

    command: str
    output: tuple[str, ...]


class Ended(msgspec.Struct, frozen=True):
    """A command that was run."""

    step: Step
    printed: str
    code: int

    def disagreement(self) -> str:
        """Empty if it went as the page says, otherwise what happened."""
        if self.step.output:
            found = re.fullmatch(_pattern(self.step.output), "".join(_lines(self.printed.splitlines())))
            return "" if found else f"$ {self.step.command}\n{self.printed}"
        return f"$ {self.step.command}\n{self.printed}exit code {self.code}" if self.code else ""


def steps(page: str) -> Iterator[Step]:
    """The commands of a page, in order."""
    for block in _BLOCK.findall(page):
        for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = session.splitlines()
            more = [line for line in rest if line.startswith("> ")]
            command = "\n".join((first, *(line[2:] for line in more)))
            yield Step(command, tuple(line for line in rest if line not in more))


def run(
    wanted: Iterable[Step], directory: Path, environment: Mapping[str, str], patience_s: float = PATIENCE_S
) -> list[Ended]:
    """Run commands one after the other in one shell; each with what it printed on either stream."""
    listed = list(wanted)
    script = "".join(f"{step.command}\nprintf '\\n{_MARK} %d\\n' $?\n" for step in listed)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=patience_s,
        check=False,
    )
    pieces = _END.split(done.stdout)
    ended = zip(listed, pieces[0::2], pieces[1::2], strict=False)
    return [Ended(step, printed, int(code)) for step, printed, code in ended]


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
