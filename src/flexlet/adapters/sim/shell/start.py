"""From a container's command to a process body."""

from typing import Final

from flexlet.adapters.sim.inside import Inside
from flexlet.adapters.sim.processes import Body, Process, Start
from flexlet.adapters.sim.shell.commands import COMMANDS
from flexlet.adapters.sim.shell.interpreter import Interpreter
from flexlet.adapters.sim.shell.lexer import SyntaxFault
from flexlet.adapters.sim.shell.streams import Streams

_SHELLS: Final = ("sh", "ash", "bash")
_PLACES: Final = ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin")


class NotFound(Exception):
    """There is no such binary; says so as runc does."""


def body(command: tuple[str, ...], inside: Inside) -> Start:
    """What a process with this command does; NotFound if the image has no such binary."""
    place, _, name = command[0].rpartition("/")
    if place not in _PLACES or (name not in COMMANDS and name not in _SHELLS):
        raise NotFound(_not_found(command[0]))
    streams = Streams(inside.out, inside.err)

    def live(process: Process) -> Body:
        if name not in _SHELLS:
            return (yield from COMMANDS[name](process, list(command[1:]), inside, streams))
        interpreter = Interpreter(process, inside, dict(inside.environment))
        try:
            return (yield from interpreter.script(_script(command), streams))
        except SyntaxFault as fault:
            streams.err(f"sh: syntax error: {fault}\n")
            return 2

    return live


def _script(command: tuple[str, ...]) -> str:
    """What follows ``-c``, or ``-ec`` and the like."""
    for index, arg in enumerate(command[1:], 1):
        if arg.startswith("-") and arg.endswith("c"):
            return command[index + 1]
    return "wait"


def _not_found(command: str) -> str:
    if "/" in command:
        return f'exec: "{command}": stat {command}: no such file or directory'
    return f'exec: "{command}": executable file not found in $PATH'
