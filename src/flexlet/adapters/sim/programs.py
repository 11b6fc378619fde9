"""What simulated containers do, instead of running binaries.

A `Program` says it in a few fields. Which one a container runs is looked up by its name, its command or its image;
a tuple of programs is one for each run, the last one for all that follow.
"""

from typing import Final

import msgspec

from flexlet.adapters.sim.inside import Inside
from flexlet.adapters.sim.processes import TERM, Body, Charge, Process, Signal, Sleep, Start
from flexlet.core.runtime.configs import ContainerConfig


class Exec(msgspec.Struct, frozen=True, kw_only=True):
    """What a command in a container prints, how it ends, and when."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    seconds: float = 0.0


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The life of a container's process; without a word it runs for ever and ends at once when it is asked to."""

    runs_s: float | None = None
    """It ends by itself after this long."""
    exit_code: int = 0
    term_s: float | None = 0.0
    """How long it takes to end when it is asked to; None if it does not listen."""
    term_code: int = 0
    output: str = ""
    """What it prints at its start."""
    last_words: str = ""
    """What it leaves in its termination log when it ends by itself."""
    memory: int = 0
    """How much it takes, all at once, `memory_after_s` after its start; too much is its end."""
    memory_kind: str = "anon"
    memory_after_s: float = 0.0
    cpu_milli: int = 0
    start_error: str = ""
    """What the runtime says instead of starting it."""
    execs: dict[tuple[str, ...], Exec] = {}
    """What commands in it answer."""


FOREVER: Final = Program()
SUCCEEDS: Final = Program(runs_s=0.0)
FAILS: Final = Program(runs_s=0.0, exit_code=1)
DEAF: Final = Program(term_s=None)
HOG: Final = Program(memory=1 << 50)

Script = Program | tuple[Program, ...]


class Programs:
    """Which program a container runs; the first table that knows the container decides."""

    def __init__(self, default: Program = FOREVER) -> None:
        self.default = default
        self.by_name: dict[str, Script] = {}
        self.by_command: dict[tuple[str, ...], Script] = {}
        self.by_image: dict[str, Script] = {}

    def choose(self, config: ContainerConfig, run: int) -> Program | None:
        """The program of a container's run (from 0); None if no table knows it."""
        script = (
            self.by_name.get(config.name)
            or self.by_command.get((*config.command, *config.args))
            or self.by_image.get(config.image)
        )
        return script[min(run, len(script) - 1)] if isinstance(script, tuple) else script


def body(program: Program, inside: Inside) -> Start:
    """The process that does what the program says."""

    def live(process: Process) -> Body:
        process.cpu_milli = program.cpu_milli
        if program.term_s is not None:
            process.handled.add(TERM)
        if program.output:
            inside.out(program.output)
        yield from _take_memory(program)
        if isinstance((yield Sleep(program.runs_s)), Signal):
            yield Sleep(program.term_s, interruptible=False)
            return program.term_code
        if program.last_words:
            inside.files.write(inside.termination_log, program.last_words)
        return program.exit_code

    return live


def exec_body(answer: Exec, inside: Inside) -> Start:
    """A command in a container that has its answer ready."""

    def live(_: Process) -> Body:
        yield Sleep(answer.seconds)
        inside.out(answer.stdout)
        inside.err(answer.stderr)
        return answer.exit_code

    return live


def _take_memory(program: Program) -> Body:
    if program.memory:
        if program.memory_after_s:
            yield Sleep(program.memory_after_s, interruptible=False)
        yield Charge(program.memory, program.memory_kind)
    return 0
